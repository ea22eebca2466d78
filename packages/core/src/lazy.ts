// lazy.ts: Node's own heavier modules, loaded when first used. A command that starts no process and hashes nothing
// should not pay for the network stack or OpenSSL; and an ESM import of `node:fs` alone loads all of its streams.
import { createRequire } from 'node:module'

interface HeavyModules {
  'node:child_process': typeof import('node:child_process')
  'node:crypto': typeof import('node:crypto')
  'node:fs': typeof import('node:fs')
  'node:net': typeof import('node:net')
  'node:os': typeof import('node:os')
  'node:tty': typeof import('node:tty')
}

/** Node 20.16 and newer return their own modules directly; before that, a `require` has to be created. */
const builtin = (process as { getBuiltinModule?: (name: string) => unknown }).getBuiltinModule

/** Asking Node again takes longer than a stat. */
const loaded: Partial<Record<keyof HeavyModules, unknown>> = {}

export function lazyModule<Name extends keyof HeavyModules>(name: Name): HeavyModules[Name] {
  loaded[name] ??= builtin?.(name) ?? createRequire(import.meta.url)(name)
  // The table above says what each name stands for.
  return loaded[name] as HeavyModules[Name]
}
