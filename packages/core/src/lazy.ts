// lazy.ts: Node's own heavier modules, loaded when first used. A command that starts no process and hashes nothing
// should not pay for the network stack or OpenSSL; and an ESM import of `node:fs` alone loads all of its streams.
import { createRequire } from 'node:module'

interface HeavyModules {
  'node:child_process': typeof import('node:child_process')
  'node:crypto': typeof import('node:crypto')
  'node:fs': typeof import('node:fs')
  'node:tty': typeof import('node:tty')
}

let load: NodeJS.Require | undefined

export function lazyModule<Name extends keyof HeavyModules>(name: Name): HeavyModules[Name] {
  // A CommonJS bundle has the real thing at hand; making another one costs a millisecond.
  load ??= typeof require === 'function' ? require : createRequire(import.meta.url)
  return load(name)
}
