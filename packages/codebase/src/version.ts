// version.ts: the name and version of this server.
/** The name of the service. */
export const SERVICE = 'plugboard-codebase'
/** The version of the package. */
export const VERSION = '0.1.0'
