// version.ts: what this server calls itself.
export const SERVICE = 'plugboard-codebase'
export const VERSION = '0.1.0'
