// keyboard.ts: the terminal's input for one conversation: a line at a time with history and completion, and Ctrl-C while
// something runs. The terminal stays in raw mode in between, so that Ctrl-C reaches us and not the servers we started.
import { createInterface, type Interface } from 'node:readline'
import { editorOutput, terminalText } from '../streams.ts'

export interface LineOptions {
  readonly history?: readonly string[]
  readonly complete?: (line: string) => Promise<readonly [readonly string[], string]>
  readonly signal?: AbortSignal | undefined
}

export type Line =
  | { readonly kind: 'line'; readonly text: string }
  /** Ctrl-C; `empty` when nothing had been typed. */
  | { readonly kind: 'interrupt'; readonly empty: boolean }
  /** Ctrl-D, or the terminal is gone. */
  | { readonly kind: 'end' }

const CTRL_C = 0x03

export class Keyboard {
  readonly #input = process.stdin
  #onInterrupt: (() => void) | undefined
  #reading: Interface | undefined
  readonly #onData = (bytes: Buffer | string) => {
    if (this.#reading === undefined && Buffer.from(bytes).includes(CTRL_C)) this.#onInterrupt?.()
  }

  /** Calls back on Ctrl-C while no line is read; the answer stops it. */
  watch(onInterrupt: () => void): () => void {
    this.#onInterrupt = onInterrupt
    this.#listen(true)
    return () => {
      this.#onInterrupt = undefined
      this.#listen(false)
    }
  }

  async line(prompt: string, options: LineOptions = {}): Promise<Line> {
    this.#listen(false)
    const { history, complete, signal } = options
    const reader = createInterface({
      input: this.#input,
      output: editorOutput(1),
      terminal: true,
      history: [...(history ?? [])],
      ...(complete && {
        completer: (line: string, done: (error: null, found: [string[], string]) => void) => {
          // A server that cannot be asked offers nothing to complete.
          complete(line).then(
            ([found, part]) => done(null, [[...found], part]),
            () => done(null, [[], line]),
          )
        },
      }),
    })
    this.#reading = reader
    let abort: () => void = () => undefined
    try {
      return await new Promise<Line>((resolve) => {
        abort = () => resolve({ kind: 'end' })
        signal?.addEventListener('abort', abort, { once: true })
        reader.on('SIGINT', () => {
          resolve({ kind: 'interrupt', empty: reader.line === '' })
          // At a question in the middle of something, it means all of it.
          this.#onInterrupt?.()
        })
        reader.on('close', () => resolve({ kind: 'end' }))
        reader.question(terminalText(prompt), (text) => resolve({ kind: 'line', text }))
      })
    } finally {
      signal?.removeEventListener('abort', abort)
      this.#reading = undefined
      reader.close()
      if (this.#onInterrupt) this.#listen(true)
    }
  }

  close(): void {
    this.#onInterrupt = undefined
    this.#listen(false)
    this.#input.pause()
  }

  #listen(on: boolean): void {
    this.#input.off('data', this.#onData)
    this.#input.setRawMode?.(on)
    if (on) this.#input.on('data', this.#onData).resume()
    else this.#input.pause()
  }
}
