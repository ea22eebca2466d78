// mentions.ts: `@server:uri` and `/mcp__server__prompt` in the user's text: resolved on the board, completed while
// typing, and put into the conversation.
import type { ContentBlock, Message } from '@plugboard/agent'
import type { Board } from '@plugboard/core'
import { InvalidInput } from '@plugboard/core/errors'
import { visible } from '@plugboard/core/text/visible'
import { plainName } from '@plugboard/core/tools'

const COMPLETE_MS = 3000
const MENTION_CHARS = 100_000
const MENTIONS = 20
const MENTION = /(?:^|\s)@([^\s:@]+):(\S+)/g
const PICTURES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** The text with every mentioned resource read and attached. The user named it, which is consent. */
export async function withMentions(board: Board, text: string, signal: AbortSignal): Promise<Message> {
  const servers = new Set(board.servers().map(({ name }) => name))
  const wanted = new Map<string, { readonly server: string; readonly uri: string }>()
  // A URI in plain text has the same form; only a server's name makes it a mention.
  for (const [, server = '', uri = ''] of text.matchAll(MENTION))
    if (servers.has(server)) wanted.set(`${server}:${uri}`, { server, uri: uri.replace(/[,;!?)]+$/, '') })
  const blocks: ContentBlock[] = [{ type: 'text', text }]
  for (const { server, uri } of [...wanted.values()].slice(0, MENTIONS)) {
    const contents = await board.read(server, uri, { signal, caller: 'user' })
    for (const content of contents) {
      const title = `Resource ${content.uri} of the server ${server}`
      if ('text' in content)
        blocks.push({ type: 'text', text: `${title}:\n${content.text.slice(0, MENTION_CHARS)}` })
      else if (PICTURES.has(content.mimeType ?? ''))
        blocks.push(
          { type: 'text', text: `${title}:` },
          { type: 'image', data: content.blob, mimeType: content.mimeType ?? '' },
        )
      else
        blocks.push({ type: 'text', text: `${title}: ${content.mimeType ?? 'bytes'} that cannot be shown.` })
    }
  }
  return { role: 'user', content: blocks }
}

/** A server's prompt as messages. Arguments are words in the prompt's order, or `name=value`. */
export async function fromPrompt(
  board: Board,
  line: string,
  signal: AbortSignal,
): Promise<readonly Message[]> {
  const [command = '', ...rest] = splitWords(line)
  const prompts = await board.prompts({ signal })
  const found = prompts.find(
    ({ server, prompt }) => `/${plainName({ server, tool: prompt.name })}` === command,
  )
  if (!found)
    throw new InvalidInput(`There is no prompt ${command}.`, {
      hint: prompts.length === 0 ? 'No server has prompts.' : 'Tab after /mcp__ completes their names.',
    })
  const declared = Array.isArray(found.prompt.arguments) ? found.prompt.arguments : []
  const names = declared.flatMap((one: unknown) =>
    typeof one === 'object' && one !== null && 'name' in one && typeof one.name === 'string'
      ? [one.name]
      : [],
  )
  const given = argumentsOf(rest, names)
  const { messages } = await board.prompt(found.server, found.prompt.name, given, { signal })
  const made = messages.map(({ role, content }): Message => {
    const blocks = blocksOf(content)
    if (role === 'user') return { role, content: blocks }
    return {
      role,
      text: blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n'),
      calls: [],
    }
  })
  if (made.at(-1)?.role !== 'user')
    throw new InvalidInput(
      'The prompt does not end with a message of the user, so the model has nothing to answer.',
    )
  return made
}

function argumentsOf(words: readonly string[], names: readonly string[]): Record<string, string> {
  const given: [string, string][] = []
  const free = [...names]
  for (const word of words) {
    const at = word.indexOf('=')
    const name = at > 0 ? word.slice(0, at) : undefined
    if (name !== undefined && names.includes(name)) {
      given.push([name, word.slice(at + 1)])
      if (free.includes(name)) free.splice(free.indexOf(name), 1)
      continue
    }
    const next = free.shift()
    if (next !== undefined) given.push([next, word])
    // The last one takes the rest: users do not quote a sentence at the end.
    else if (given.length > 0) given.push([given.at(-1)?.[0] ?? '', `${given.at(-1)?.[1] ?? ''} ${word}`])
  }
  return Object.fromEntries(given)
}

function splitWords(line: string): string[] {
  return [...line.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  )
}

function blocksOf(content: unknown): ContentBlock[] {
  return (Array.isArray(content) ? content : [content]).flatMap((value: unknown): ContentBlock[] => {
    if (typeof value !== 'object' || value === null) return []
    const { type, text, data, mimeType, resource } = value as Readonly<Record<string, unknown>>
    if (type === 'text' && typeof text === 'string') return [{ type: 'text', text }]
    if (type === 'image' && typeof data === 'string' && typeof mimeType === 'string')
      return [{ type: 'image', data, mimeType }]
    if (type === 'resource') return [{ type: 'text', text: JSON.stringify(resource) }]
    return []
  })
}

/** What could follow: commands and prompts after a slash, servers and resources after an at sign. */
export async function completions(
  board: Board,
  line: string,
  commands: readonly string[],
): Promise<readonly [readonly string[], string]> {
  const part = /\S*$/.exec(line)?.[0] ?? ''
  if (part.startsWith('@')) return [matching(await mentionable(board), part), part]
  if (!line.startsWith('/') || part !== line) return [[], part]
  const prompts = part.startsWith('/mcp__')
    ? (await within(board.prompts({ signal: AbortSignal.timeout(COMPLETE_MS) }))).map(
        ({ server, prompt }) => `/${plainName({ server, tool: prompt.name })}`,
      )
    : []
  return [matching([...commands, ...prompts], part), part]
}

async function mentionable(board: Board): Promise<readonly string[]> {
  const resources = await within(board.resources({ signal: AbortSignal.timeout(COMPLETE_MS) }))
  return resources.map(({ server, resource }) => `@${server}:${resource.uri}`)
}

/** A slow server offers nothing yet. */
async function within<T>(work: Promise<readonly T[]>): Promise<readonly T[]> {
  return await work.catch(() => [])
}

function matching(all: readonly string[], part: string): readonly string[] {
  // A line editor writes completions to the terminal unchanged.
  return all.filter((one) => one.startsWith(part) && visible(one) === one && !/\s/.test(one)).slice(0, 100)
}
