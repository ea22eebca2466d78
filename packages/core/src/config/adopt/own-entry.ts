// own-entry.ts: the entry through which another client uses this board, and how to recognise one. A board never
// connects to such an entry: it would be talking to itself.
import { basename } from 'node:path'

export const OWN_NAME = 'plugboard'
const OWN_VERBS: ReadonlySet<string> = new Set(['connect', 'serve'])
const OWN_PROGRAM = /^plugboard(?:\.(?:c?js|cmd|exe|ps1))?$/i

/** `command` and `args` of an entry, as any client writes them. */
interface CommandLine {
  readonly command?: unknown
  readonly args?: unknown
}

/** GUI programs have no shell's PATH, so Node and the command are named by their full paths. */
export function ownEntry(
  node: string,
  script: string,
): { readonly command: string; readonly args: string[] } {
  return { command: node, args: [script, 'connect'] }
}

/** Does the entry start `plugboard connect` or `plugboard serve`, directly or through Node or a package runner? */
export function isOwnEntry(entry: object): boolean {
  const { command, args: given }: CommandLine = entry
  const args = Array.isArray(given) ? given : []
  const words = [command, ...args].filter((word) => typeof word === 'string')
  const at = words.findIndex((word) =>
    OWN_PROGRAM.test(basename(word.replaceAll('\\', '/')).replace(/@[^@]*$/, '')),
  )
  return at >= 0 && words.slice(at + 1).some((word) => OWN_VERBS.has(word))
}
