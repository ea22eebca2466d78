// session-store.ts: conversations on disk: one file each, one line for everything that happened, only ever appended. A
// process that is killed loses at most what it had not written, and reading a file makes it whole again.
import { join } from 'node:path'
import type { CallResult, Message, RecordedItem, Usage } from '@plugboard/agent'
import { InvalidInput, IoError } from '@plugboard/core/errors'
import { lazyModule } from '@plugboard/core/lazy'
import { type HeldFile, holdFile } from './session-lock.ts'

const VERSION = 1
const FOLDER = 'chats'
const MOST_FILES = 500
const MOST_BYTES = 256 * 1024 * 1024
/** As much of a file as a list needs. */
const HEAD_BYTES = 64 * 1024
const TITLE_CHARS = 80

/** One line of a file. */
export type SessionItem =
  | {
      readonly type: 'chat'
      readonly version: number
      readonly id: string
      readonly root: string
      readonly model: string
      readonly at: string
      readonly forkOf?: string
    }
  | { readonly type: 'message'; readonly message: Message }
  /** A piece of an answer that is still arriving. */
  | { readonly type: 'delta'; readonly text: string }
  /** The pieces so far do not count: the answer starts again. */
  | { readonly type: 'discard' }
  /** The result of one call, before those beside it are there. */
  | { readonly type: 'result'; readonly result: CallResult }
  /** From here on the conversation is this. */
  | { readonly type: 'replace'; readonly messages: readonly Message[] }
  | { readonly type: 'usage'; readonly usage: Usage }

export interface StoredChat {
  readonly id: string
  readonly root: string
  readonly model: string
  readonly messages: readonly Message[]
  readonly usage: Usage
}

export interface ChatSummary {
  readonly id: string
  readonly root: string
  readonly title: string
  readonly changed: Date
}

/** Where a conversation writes what happens. */
export interface SessionFile {
  readonly id: string
  add(item: SessionItem): void
  close(): Promise<void>
}

export class SessionStore {
  readonly #folder: string

  constructor(stateFolder: string) {
    this.#folder = join(stateFolder, FOLDER)
  }

  /** A file for a new conversation; it is made when there is something to write. */
  create(head: { readonly root: string; readonly model: string; readonly forkOf?: string }): SessionFile {
    const now = new Date()
    const random = lazyModule('node:crypto').randomBytes(3).toString('hex')
    const id = `${now.toISOString().slice(0, 19).replace(/[-:]/g, '').replace('T', '-')}-${random}`
    return new AppendFile(this.#path(id), id, {
      first: { type: 'chat', version: VERSION, id, ...head, at: now.toISOString() },
      prepare: () => this.#prepare(),
    })
  }

  /** An earlier conversation and its file to go on in; without a file when another chat has it open. */
  async takeUp(id: string): Promise<{ readonly chat: StoredChat; readonly file?: SessionFile }> {
    const known = this.#known(id)
    const path = this.#path(known)
    const held = await holdFile(path)
    // Read when no other process can add to it any more.
    const chat = this.read(known)
    if (!held) return { chat }
    return { chat, file: new AppendFile(path, known, { prepare: () => undefined, held }) }
  }

  read(id: string): StoredChat {
    return foldItems(readItems(this.#path(this.#known(id))))
  }

  /** Newest first; only those of a folder when it is given. */
  list(root?: string): readonly ChatSummary[] {
    const fs = lazyModule('node:fs')
    let names: readonly string[]
    try {
      names = fs.readdirSync(this.#folder).filter((name) => name.endsWith('.jsonl'))
    } catch {
      // No conversation yet.
      return []
    }
    return names
      .flatMap((name) => summaryOf(join(this.#folder, name)) ?? [])
      .filter((one) => root === undefined || one.root === root)
      .sort((a, b) => b.changed.getTime() - a.changed.getTime())
  }

  #path(id: string): string {
    return join(this.#folder, `${id}.jsonl`)
  }

  /** The whole id for the beginning of one. */
  #known(id: string): string {
    const ids = this.list().map((one) => one.id)
    if (ids.includes(id)) return id
    const meant = ids.filter((one) => one.startsWith(id) || one.endsWith(id))
    if (meant.length === 1 && meant[0] !== undefined && id !== '') return meant[0]
    throw new InvalidInput(
      meant.length > 1 ? `"${id}" means ${meant.length} conversations.` : `There is no conversation "${id}".`,
      { hint: 'Run `plugboard chat --resume` at a terminal to choose one.' },
    )
  }

  #prepare(): void {
    const fs = lazyModule('node:fs')
    fs.mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
    for (const { id } of this.list().slice(MOST_FILES)) fs.rmSync(this.#path(id), { force: true })
  }
}

interface AppendOptions {
  readonly first?: SessionItem
  prepare(): void
  /** Its lock; a new file gets one when it is made. */
  readonly held?: HeldFile
}

/** Written line by line, at once, readable by its owner only. */
class AppendFile implements SessionFile {
  readonly id: string
  readonly #path: string
  readonly #options: AppendOptions
  #fd: number | undefined
  #held: Promise<HeldFile | undefined> | undefined

  constructor(path: string, id: string, options: AppendOptions) {
    this.#path = path
    this.id = id
    this.#options = options
    if (options.held) this.#held = Promise.resolve(options.held)
  }

  add(item: SessionItem): void {
    const fs = lazyModule('node:fs')
    try {
      const lines = this.#fd === undefined ? this.#open() : ''
      fs.appendFileSync(this.#fd ?? -1, `${lines}${JSON.stringify(item)}\n`)
    } catch (error) {
      throw new IoError(`The conversation cannot be saved in ${this.#path}.`, {
        stage: 'config',
        cause: error,
        hint: 'Free the disk or set PLUGBOARD_STATE_DIR to a folder that can be written; --no-save does not save.',
      })
    }
  }

  async close(): Promise<void> {
    if (this.#fd !== undefined) lazyModule('node:fs').closeSync(this.#fd)
    this.#fd = undefined
    await (await this.#held)?.release()
  }

  /** What has to be written before the first line. */
  #open(): string {
    const fs = lazyModule('node:fs')
    const { first, prepare } = this.#options
    prepare()
    // Its id is new, so no other chat can have it; a folder without locks still saves.
    this.#held ??= holdFile(this.#path).catch(() => undefined)
    this.#fd = fs.openSync(this.#path, 'a+', 0o600)
    const { size } = fs.fstatSync(this.#fd)
    if (size === 0) return first ? `${JSON.stringify(first)}\n` : ''
    // A line that a crash has cut stays as it is, and the next one begins after it.
    const last = Buffer.alloc(1)
    fs.readSync(this.#fd, last, 0, 1, size - 1)
    return last.toString() === '\n' ? '' : '\n'
  }
}

function readItems(path: string): readonly unknown[] {
  const fs = lazyModule('node:fs')
  try {
    if (fs.statSync(path).size > MOST_BYTES) throw new InvalidInput(`${path} is too large to be read.`)
    return parseLines(fs.readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof InvalidInput) throw error
    throw new InvalidInput(`The conversation ${path} cannot be read.`, { cause: error })
  }
}

/** Lines that are whole; a crash may have cut one. */
function parseLines(text: string): readonly unknown[] {
  return text.split('\n').flatMap((line) => {
    if (line.trim() === '') return []
    try {
      return [JSON.parse(line) as unknown]
    } catch {
      return []
    }
  })
}

/** The conversation that the lines tell, made whole where the last lines are missing. */
export function foldItems(items: readonly unknown[]): StoredChat {
  // Files of ours: what is inside a line was written by this version or an older one.
  const [head, ...rest] = items as readonly SessionItem[]
  if (head?.type !== 'chat') throw new InvalidInput('This file is not a saved conversation.')
  if (head.version !== VERSION)
    throw new InvalidInput(`The conversation was saved by another version (${head.version}).`)
  let messages: Message[] = []
  let partial = ''
  let results = new Map<string, CallResult>()
  let usage: Usage = { inputTokens: 0, outputTokens: 0 }
  const settle = () => {
    if (partial.trim() !== '') messages.push({ role: 'assistant', text: partial, calls: [] })
    partial = ''
    const missing = missingResults(messages, results)
    if (missing) messages.push(missing)
    results = new Map()
  }
  for (const item of rest)
    switch (item.type) {
      case 'message':
        if (item.message.role === 'user') settle()
        partial = ''
        if (item.message.role === 'results') results = new Map()
        messages.push(item.message)
        break
      case 'delta':
        partial += item.text
        break
      case 'discard':
        partial = ''
        break
      case 'result':
        results.set(item.result.id, item.result)
        break
      case 'replace':
        messages = [...item.messages]
        partial = ''
        results = new Map()
        break
      case 'usage':
        usage = {
          inputTokens: usage.inputTokens + item.usage.inputTokens,
          outputTokens: usage.outputTokens + item.usage.outputTokens,
        }
    }
  settle()
  return { id: head.id, root: head.root, model: head.model, messages, usage }
}

const UNKNOWN = 'The program ended while this call was running; whether it was done is unknown.'

/** A model's calls must have results: those that arrived, and for the others a word that nothing is known. */
function missingResults(
  messages: readonly Message[],
  arrived: ReadonlyMap<string, CallResult>,
): Message | undefined {
  const last = messages.at(-1)
  if (last?.role !== 'assistant' || last.calls.length === 0) return undefined
  return {
    role: 'results',
    results: last.calls.map(
      ({ id, name }) =>
        arrived.get(id) ?? { id, name, isError: true, content: [{ type: 'text', text: UNKNOWN }] },
    ),
  }
}

/** A recording of `--record` as the messages of its conversation. */
export function messagesOfRecording(text: string): readonly Message[] {
  const items = parseLines(text) as readonly RecordedItem[]
  if (items[0]?.type !== 'recording')
    throw new InvalidInput('This file is neither a saved conversation nor a recording.')
  return items.flatMap((item): Message[] => {
    if (item.type === 'input') return [item.message]
    if (item.type === 'calls')
      return [
        { role: 'assistant', text: '', calls: item.calls },
        { role: 'results', results: item.batch.results },
      ]
    if (item.type !== 'model') return []
    const said = item.events.flatMap((event) => (event.type === 'text' ? [event.text] : [])).join('')
    // Its calls follow with their results.
    const calls = item.events.some(({ type }) => type === 'call')
    return said.trim() === '' || calls ? [] : [{ role: 'assistant', text: said, calls: [] }]
  })
}

function summaryOf(path: string): ChatSummary | undefined {
  const fs = lazyModule('node:fs')
  try {
    const fd = fs.openSync(path, 'r')
    const head = Buffer.alloc(HEAD_BYTES)
    const length = fs.readSync(fd, head, 0, HEAD_BYTES, 0)
    fs.closeSync(fd)
    const items = parseLines(head.subarray(0, length).toString('utf8')) as readonly SessionItem[]
    const [first] = items
    if (first?.type !== 'chat') return undefined
    return { id: first.id, root: first.root, title: titleOf(items), changed: fs.statSync(path).mtime }
  } catch {
    // Removed meanwhile, or not ours.
    return undefined
  }
}

function titleOf(items: readonly SessionItem[]): string {
  for (const item of items)
    if (item.type === 'message' && item.message.role === 'user')
      for (const block of item.message.content)
        if (block.type === 'text' && block.text.trim() !== '')
          return block.text.trim().replace(/\s+/g, ' ').slice(0, TITLE_CHARS)
  return '(empty)'
}
