// undici.ts: the parts of undici that are used, as our own module, so that it is loaded when first needed and a
// bundler sees plain named exports.
export { Agent, buildConnector, EnvHttpProxyAgent, fetch } from 'undici'
