// The one function we use of a large package, in its own module so that it can be loaded on demand, bundled or not.
export { parseDocument } from 'yaml'
