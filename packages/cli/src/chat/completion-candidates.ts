// completion-candidates.ts: what could follow in the user's text: commands and prompts after a slash, files, servers and resources
// after an at sign.
import { join } from 'node:path'
import type { Board } from '@plugboard/core'
import { lazyModule } from '@plugboard/core/lazy'
import { visible } from '@plugboard/core/text/escape-controls'
import { plainName } from '@plugboard/core/tools'
import type { Candidate } from './completion-menu.ts'

const COMPLETE_MS = 3000
const MOST = 100
const MOST_ENTRIES = 2000

export interface CompletionSources {
  readonly board: Pick<Board, 'prompts' | 'resources' | 'servers'>
  /** Name → what it does. */
  readonly commands: Readonly<Record<string, string>>
  readonly root: string
  /** Words that may follow a command. */
  words(command: string): readonly string[]
}

export async function completions(
  sources: CompletionSources,
  before: string,
): Promise<{ readonly found: readonly Candidate[]; readonly part: string }> {
  const part = /\S*$/.exec(before)?.[0] ?? ''
  if (part.startsWith('@')) {
    const [files, resources] = [
      fileCandidates(sources.root, part),
      await resourceCandidates(sources.board, part),
    ]
    return { found: matching([...resources, ...files], part), part }
  }
  if (!before.startsWith('/')) return { found: [], part }
  if (part !== before) {
    const [command = ''] = before.split(/\s/, 1)
    return {
      found: matching(
        sources.words(command).map((text) => ({ text })),
        part,
      ),
      part,
    }
  }
  const commands = Object.entries(sources.commands).map(([text, about]) => ({ text, about }))
  const prompts =
    part === '/' || '/mcp__'.startsWith(part) || part.startsWith('/mcp__')
      ? await promptCandidates(sources.board)
      : []
  return { found: matching([...commands, ...(part.startsWith('/m') ? prompts : [])], part), part }
}

async function promptCandidates(board: CompletionSources['board']): Promise<readonly Candidate[]> {
  const prompts = await within(board.prompts({ signal: AbortSignal.timeout(COMPLETE_MS) }))
  return prompts.map(({ server, prompt }) => ({
    text: `/${plainName({ server, tool: prompt.name })}`,
    about: typeof prompt.description === 'string' ? prompt.description : undefined,
  }))
}

async function resourceCandidates(
  board: CompletionSources['board'],
  part: string,
): Promise<readonly Candidate[]> {
  // A path cannot be the beginning of a server's name.
  if (/^@(?:\.|~|\/)/.test(part)) return []
  const resources = await within(board.resources({ signal: AbortSignal.timeout(COMPLETE_MS) }))
  return resources.map(({ server, resource }) => ({ text: `@${server}:${resource.uri}` }))
}

/** The entries of the folder that the path so far leads to. */
function fileCandidates(root: string, part: string): readonly Candidate[] {
  const typed = part.slice(1)
  const folder = typed.slice(0, typed.lastIndexOf('/') + 1)
  const home = process.env['HOME']
  const full =
    folder.startsWith('~/') && home
      ? join(home, folder.slice(2))
      : folder.startsWith('/')
        ? folder
        : join(root, folder)
  try {
    return lazyModule('node:fs')
      .readdirSync(full, { withFileTypes: true })
      .filter(({ name }) => !name.startsWith('.') || typed.slice(folder.length).startsWith('.'))
      .slice(0, MOST_ENTRIES)
      .map((entry) => ({ text: `@${folder}${entry.name}${entry.isDirectory() ? '/' : ''}` }))
  } catch {
    // No such folder: nothing to offer.
    return []
  }
}

/** A slow server offers nothing yet. */
async function within<T>(work: Promise<readonly T[]>): Promise<readonly T[]> {
  return await work.catch(() => [])
}

/** Only what can be typed and seen. */
function matching(all: readonly Candidate[], part: string): readonly Candidate[] {
  return all
    .filter(({ text }) => text.startsWith(part) && visible(text) === text && !/\s/.test(text))
    .slice(0, MOST)
}
