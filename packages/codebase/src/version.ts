// version.ts: the name and version of this server.
export const SERVICE = 'plugboard-codebase'
export const VERSION = '0.1.0'
