// The one thing we take from a large package, in a module of its own so that it can be loaded on demand, bundled or not.
export { parseDocument } from 'yaml'
