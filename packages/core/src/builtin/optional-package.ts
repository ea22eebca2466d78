// optional-package.ts: the npm packages that some built-ins need and that are installed on demand: beside the program, or by
// `plugboard builtin add` in Plugboard's own folder. A project's node_modules is never searched.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InitError } from '../errors.ts'

export interface OptionalPackage {
  /** The built-in that needs it. */
  readonly builtin: string
  readonly name: string
  /** The version that was tried. */
  readonly version: string
  /** The module inside it. */
  readonly module: string
}

/** Where `plugboard builtin add` installs. */
export function packagesFolder(home: string): string {
  return join(home, 'packages')
}

/** The path of its module, or undefined when it is not installed. */
export function findPackage({ module }: OptionalPackage, home: string): string | undefined {
  for (const from of [import.meta.url, join(packagesFolder(home), 'package.json')])
    try {
      return createRequire(from).resolve(module)
    } catch {
      // Not there; the next place may have it.
    }
  return undefined
}

export async function loadPackage(wanted: OptionalPackage, home: string): Promise<unknown> {
  const path = findPackage(wanted, home)
  if (path === undefined)
    throw new InitError(`The package ${wanted.name} is not installed.`, {
      server: wanted.builtin,
      stage: 'client',
      hint: `Run \`plugboard builtin add ${wanted.builtin}\`.`,
    })
  try {
    return await import(pathToFileURL(path).href)
  } catch (error) {
    throw new InitError(`The package ${wanted.name} could not be loaded.`, {
      server: wanted.builtin,
      stage: 'client',
      hint: `Install it anew: \`plugboard builtin add ${wanted.builtin}\`.`,
      cause: error,
    })
  }
}
