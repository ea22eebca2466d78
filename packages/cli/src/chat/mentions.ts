// mentions.ts: `@file`, `@server:uri` and `/mcp__server__prompt` in the user's text: resolved, and put into the
// conversation. completion-candidates.ts offers them while typing.
import { isAbsolute, join, resolve } from 'node:path'
import type { ContentBlock, Message } from '@plugboard/agent'
import type { Board } from '@plugboard/core'
import { InvalidInput } from '@plugboard/core/errors'
import { lazyModule } from '@plugboard/core/lazy'
import { plainName } from '@plugboard/core/tools'

const MENTION_CHARS = 100_000
const MENTIONS = 20
const MOST_BYTES = 10 * 1024 * 1024
const MENTION = /(?:^|\s)@([^\s:@]+):(\S+)/g
const FILE = /(?:^|\s)@(?:"([^"\n]+)"|([^\s@"]+))/g
const PICTURES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const PICTURE_FILES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
}

/** The text with every mentioned resource and file read and attached. The user named it, which is consent. */
export async function withMentions(
  board: Pick<Board, 'servers' | 'read'>,
  text: string,
  root: string,
  signal: AbortSignal,
): Promise<Message> {
  const resources = await mentionedResources(board, text, signal)
  return { role: 'user', content: [{ type: 'text', text }, ...resources, ...mentionedFiles(text, root)] }
}

async function mentionedResources(
  board: Pick<Board, 'servers' | 'read'>,
  text: string,
  signal: AbortSignal,
): Promise<readonly ContentBlock[]> {
  const servers = new Set(board.servers().map(({ name }) => name))
  const wanted = new Map<string, { readonly server: string; readonly uri: string }>()
  // A URI in plain text has the same form; only a server's name makes it a mention.
  for (const [, server = '', uri = ''] of text.matchAll(MENTION))
    if (servers.has(server)) wanted.set(`${server}:${uri}`, { server, uri: uri.replace(/[,;!?)]+$/, '') })
  const blocks: ContentBlock[] = []
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
  return blocks
}

/** Files by their path, relative to the project. What is no file is text. */
function mentionedFiles(text: string, root: string): readonly ContentBlock[] {
  const fs = lazyModule('node:fs')
  const paths = new Set(
    [...text.matchAll(FILE)].map(([, quoted, bare = '']) => quoted ?? bare.replace(/[.,;!?)]+$/, '')),
  )
  const blocks: ContentBlock[] = []
  for (const path of [...paths].slice(0, MENTIONS)) {
    const home = process.env['HOME']
    const full =
      path.startsWith('~/') && home
        ? join(home, path.slice(2))
        : isAbsolute(path)
          ? path
          : resolve(root, path)
    const stat = fs.statSync(full, { throwIfNoEntry: false })
    if (!stat?.isFile()) continue
    if (stat.size > MOST_BYTES)
      throw new InvalidInput(`${path} is too large to be sent (${Math.round(stat.size / 1024 / 1024)} MB).`)
    const bytes = fs.readFileSync(full)
    const picture = PICTURE_FILES[path.split('.').at(-1)?.toLowerCase() ?? '']
    if (picture !== undefined)
      blocks.push(
        { type: 'text', text: `File ${path}:` },
        { type: 'image', data: bytes.toString('base64'), mimeType: picture },
      )
    else if (bytes.includes(0)) throw new InvalidInput(`${path} is not a text file.`)
    else
      blocks.push({ type: 'text', text: `File ${path}:\n${bytes.toString('utf8').slice(0, MENTION_CHARS)}` })
  }
  return blocks
}

/** A server's prompt as messages. Arguments are words in the prompt's order, or `name=value`. */
export async function fromPrompt(
  board: Pick<Board, 'prompts' | 'prompt'>,
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
