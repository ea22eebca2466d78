// version.ts: the version that servers and clients are told. A test holds it to package.json.
export const VERSION = '0.1.0'
