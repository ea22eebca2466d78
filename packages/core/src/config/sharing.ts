// sharing.ts: which boards of one process may use the same instance of a server. Pure: the entry and the project decide.
// connection/pool.ts acts on it, and `plugboard explain` prints it.
import { isAbsolute, sep } from 'node:path'
import type { Share, StdioEntry } from './entry.ts'
import { isEditorEntry, isInProcess, startsCommand } from './transport-traits.ts'
import type { ConfiguredServer } from './types.ts'

export interface Sharing {
  readonly share: Share
  /** The reason, as the end of a sentence. */
  readonly why: string
}

/** Packages and programs that keep a browser, a terminal or a conversation between calls. */
const STATEFUL =
  /playwright|puppeteer|chrome-devtools|browser|selenium|webdriver|desktop-commander|\btmux\b|\bterminal\b|\bpty\b|sequential-?thinking/i

/** An entry of a repository is never shared beyond its project: it was approved for that project alone. */
export function sharingOf(
  { entry, author }: Pick<ConfiguredServer, 'entry' | 'author'>,
  root: string,
): Sharing {
  const said = entry.share
  if (author === 'repository' && said !== 'session')
    return { share: 'project', why: 'it came with the project and is approved for it alone' }
  if (said !== undefined) return { share: said, why: 'its entry says so' }
  if (isInProcess(entry)) return { share: 'project', why: 'it serves one project folder' }
  if (isEditorEntry(entry))
    return { share: 'project', why: 'it belongs to the editor that has the project open' }
  if (!startsCommand(entry)) {
    const helperCwd = 'helperCwd' in entry ? entry.helperCwd : undefined
    return helperCwd !== undefined && isWithin(helperCwd, root)
      ? { share: 'project', why: 'its headersHelper runs in the project folder' }
      : { share: 'user', why: 'it is a remote server' }
  }
  const stateful = [entry.command, ...entry.args].find((word) => STATEFUL.test(programPart(word, root)))
  if (stateful !== undefined)
    return { share: 'session', why: `"${stateful.slice(0, 60)}" keeps state for one conversation` }
  if (entry.cwd === undefined || isWithin(entry.cwd, root))
    return { share: 'project', why: 'it starts in the project folder' }
  if (namesFolder(entry, root)) return { share: 'project', why: 'its entry names the project folder' }
  return { share: 'user', why: 'it neither starts in the project folder nor names it' }
}

/** The part of a path that names a program: its package, or the file and the two folders around it. Other folders say nothing of it. */
function programPart(word: string, root: string): string {
  if (!isAbsolute(word)) return word
  const [, installed] = /.*\/node_modules\/(.+)/s.exec(word) ?? []
  if (installed !== undefined) return installed
  const own = isWithin(word, root) ? word.slice(root.length) : word
  return own.split(sep).slice(-3).join(sep)
}

function namesFolder({ command, args, env }: StdioEntry, root: string): boolean {
  return [command, ...args, ...Object.values(env)].some(
    (word) => isWithin(word.replace(/^[^/]*=/, ''), root) || word.startsWith('./') || word === '.',
  )
}

function isWithin(path: string, root: string): boolean {
  return isAbsolute(path) && (path === root || path.startsWith(root.endsWith(sep) ? root : `${root}${sep}`))
}
