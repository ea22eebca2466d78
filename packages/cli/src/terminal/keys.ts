// keys.ts: the keyboard, one key or one line at a time. Questions go to stderr, so that stdout holds only the result; to
// stdout where stderr is not the terminal.
// Leaving a question (Esc, Ctrl-D, Ctrl-C) is an error of its own, which the form turns into an answer.
import { createInterface, emitKeypressEvents, type Key } from 'node:readline'
import { cursor } from '../colors.ts'
import { columnsOf, editorOutput, type Fd, isTerminal, screenRows, terminalText, write } from '../streams.ts'

/** Where questions are shown. */
export function questionFd(): Fd {
  return isTerminal(2) || !isTerminal(1) ? 2 : 1
}

/** Shows a part of a question. */
export function tell(text: string): void {
  write(questionFd(), text)
}

/** The user left the question. */
export class PromptAborted extends Error {
  constructor() {
    super('The question was closed without an answer.')
    this.name = 'PromptAborted'
  }
}

export interface LineOptions {
  readonly prompt: string
  readonly signal?: AbortSignal | undefined
}

/** One line, with the usual editing. */
export async function askLine(options: LineOptions): Promise<string> {
  const [line = ''] = await askLines(options, () => true)
  return line
}

/** Lines until there are enough; a paste is several of them at once. */
export function askLines(
  { prompt, signal }: LineOptions,
  enough: (lines: readonly string[]) => boolean,
): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new PromptAborted())
    const { stdin } = process
    const reader = createInterface({
      input: stdin,
      output: editorOutput(questionFd()),
      terminal: true,
      historySize: 0,
      prompt: terminalText(prompt),
    })
    const lines: string[] = []
    let answered = false
    const leave = () => reader.close()
    const onKey = (_: string | undefined, key: Key | undefined) => {
      if (key?.name === 'escape') leave()
    }
    stdin.on('keypress', onKey)
    signal?.addEventListener('abort', leave, { once: true })
    reader.on('SIGINT', () => {
      interrupt()
      leave()
    })
    reader.on('close', () => {
      stdin.off('keypress', onKey)
      signal?.removeEventListener('abort', leave)
      stdin.pause()
      if (answered) return resolve(lines)
      tell('\n')
      reject(new PromptAborted())
    })
    reader.on('line', (line) => {
      if (answered) return
      lines.push(line)
      answered = enough(lines)
      if (answered) reader.close()
      else reader.prompt()
    })
    reader.prompt()
  })
}

/**
 * Ctrl-C. The terminal is in raw mode and sends no signal by itself, so the command's own handler is called; at once, so
 * that leaving the question is not taken for an answer before the command knows that it is stopped.
 */
function interrupt(): void {
  if (process.listenerCount('SIGINT') > 0) process.emit('SIGINT', 'SIGINT')
  else process.kill(process.pid, 'SIGINT')
}

/** Reads keys until the handler has an answer. */
function readKeys<T>(
  handle: (key: { readonly name: string; readonly text: string }) => { readonly answer: T } | undefined,
  signal?: AbortSignal,
): Promise<T> {
  const { stdin } = process
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new PromptAborted())
    const end = (settle: () => void) => {
      stdin.off('keypress', onKey)
      signal?.removeEventListener('abort', onAbort)
      stdin.setRawMode(false)
      stdin.pause()
      settle()
    }
    const onAbort = () => end(() => reject(new PromptAborted()))
    const onKey = (text: string | undefined, key: Key | undefined) => {
      const name = key?.ctrl ? `ctrl-${key.name}` : (key?.name ?? '')
      if (name === 'ctrl-c') {
        interrupt()
        onAbort()
      } else if (name === 'escape' || name === 'ctrl-d') onAbort()
      else {
        const done = handle({ name, text: text ?? '' })
        if (done) end(() => resolve(done.answer))
      }
    }
    emitKeypressEvents(stdin)
    stdin.setRawMode(true)
    stdin.on('keypress', onKey)
    stdin.resume()
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** How long no key may come before a question is shown, when none came so far and when some did. */
const SETTLE_MS = 50
const QUIET_MS = 300
/** A key that is held down is no answer. */
const NOISY_MS = 10_000

/**
 * Reads and drops what was typed before a question is shown: one key answers it, and that key has to be meant for it.
 * The question is shown after this.
 */
export function dropTypeAhead(signal?: AbortSignal): Promise<void> {
  const { stdin } = process
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new PromptAborted())
    const end = (settle: () => void) => {
      clearTimeout(quiet)
      clearTimeout(noisy)
      stdin.off('data', onData)
      signal?.removeEventListener('abort', onAbort)
      stdin.setRawMode(false)
      stdin.pause()
      settle()
    }
    const onAbort = () => end(() => reject(new PromptAborted()))
    const onData = (bytes: Buffer | string) => {
      clearTimeout(quiet)
      quiet = setTimeout(() => end(resolve), QUIET_MS)
      if (!String(bytes).includes('\x03')) return
      interrupt()
      onAbort()
    }
    let quiet = setTimeout(() => end(resolve), SETTLE_MS)
    const noisy = setTimeout(onAbort, NOISY_MS)
    stdin.setRawMode(true)
    stdin.on('data', onData).resume()
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** One key, by the character it types or by its name; undefined for one that is not accepted. */
export async function pressKey<T>(
  prompt: string,
  accept: (key: string) => T | undefined,
  signal?: AbortSignal,
): Promise<T> {
  tell(prompt)
  try {
    return await readKeys(({ name, text }) => {
      const answer = accept(name === 'return' ? 'enter' : text.length === 1 ? text.toLowerCase() : name)
      return answer === undefined ? undefined : { answer }
    }, signal)
  } finally {
    tell('\n')
  }
}

/** One of a few keys; Enter takes the first. */
export async function askKey<K extends string>(
  choices: readonly { readonly key: string; readonly means: K; readonly label: string }[],
  signal?: AbortSignal,
): Promise<K> {
  const shown = choices.map(({ key, label }, at) => `[${at === 0 ? 'Enter' : key}] ${label}`)
  tell(`  ${[...shown, '[Esc] cancel'].join('   ')} `)
  try {
    return await readKeys(({ name, text }) => {
      const first = name === 'return' || name === 'enter' ? choices[0] : undefined
      const chosen = first ?? choices.find(({ key }) => key === text.toLowerCase())
      return chosen && { answer: chosen.means }
    }, signal)
  } finally {
    tell('\n')
  }
}

/** A list for the arrow keys; with `several`, the space bar marks and Enter takes the marked ones. */
export async function pick(
  options: readonly string[],
  settings: {
    readonly start: readonly number[]
    readonly several: boolean
    /** What is wrong with a choice, if anything. */
    readonly problem?: (chosen: readonly number[]) => string | undefined
    readonly signal?: AbortSignal | undefined
  },
): Promise<readonly number[]> {
  const { several, signal } = settings
  const height = Math.max(3, Math.min(options.length, screenRows(questionFd()) - 4))
  const marked = new Set(settings.start)
  let at = settings.start[0] ?? 0
  let top = 0
  let lines = 0
  let complaint = ''
  const back = () => (lines > 0 ? cursor.up(lines) + cursor.eraseBelow() : '')
  const draw = () => {
    if (at < top) top = at
    if (at >= top + height) top = at - height + 1
    const rows = options.slice(top, top + height).map((label, row) => {
      const index = top + row
      const box = several ? (marked.has(index) ? '[x] ' : '[ ] ') : ''
      return `  ${index === at ? '❯' : ' '} ${box}${label}`
    })
    const more = options.length > height ? ` (${at + 1} of ${options.length})` : ''
    const help = several ? '↑↓ move · space marks · Enter takes' : '↑↓ move · Enter takes'
    const text = [...rows, `    ${complaint || `${help}${more}`}`]
    tell(`${back()}${text.map(fit).join('\n')}\n`)
    lines = text.length
  }
  const wipe = () => tell(back())
  draw()
  try {
    const chosen = await readKeys(({ name, text }) => {
      complaint = ''
      if (name === 'up' || name === 'k') at = (at + options.length - 1) % options.length
      else if (name === 'down' || name === 'j' || name === 'tab') at = (at + 1) % options.length
      else if (/^[1-9]$/.test(text) && Number(text) <= options.length) at = Number(text) - 1
      else if (several && name === 'space') {
        if (!marked.delete(at)) marked.add(at)
      } else if (name === 'return' || name === 'enter') {
        const answer = several ? [...marked].sort((a, b) => a - b) : [at]
        complaint = settings.problem?.(answer) ?? ''
        if (complaint === '') return { answer }
      }
      draw()
      return undefined
    }, signal)
    wipe()
    return chosen
  } catch (error) {
    wipe()
    throw error
  }
}

function fit(line: string): string {
  return [...line].slice(0, columnsOf(questionFd()) - 1).join('')
}
