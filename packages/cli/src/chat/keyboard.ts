// keyboard.ts: the terminal's input for one conversation: a line at a time with history and completion, and Ctrl-C while
// something runs. The terminal stays in raw mode in between, so that Ctrl-C reaches us and not the servers we started,
// and what is typed meanwhile waits for the next line.
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import { cursor } from '../colors.ts'
import { editorOutput, terminalText, write } from '../streams.ts'
import { inOneLine, TypeAhead, withLineEnds } from './type-ahead.ts'

export interface LineOptions {
  readonly history?: readonly string[]
  readonly complete?: (line: string) => Promise<readonly [readonly string[], string]>
  readonly signal?: AbortSignal | undefined
  /** A question: text typed before it was shown is not an answer to it, and waits. */
  readonly fresh?: boolean
}

export type Line =
  | { readonly kind: 'line'; readonly text: string }
  /** Ctrl-C; `empty` when nothing had been typed. */
  | { readonly kind: 'interrupt'; readonly empty: boolean }
  /** Ctrl-D, or the terminal is gone. */
  | { readonly kind: 'end' }

const ESCAPE_MS = 100

/** Where the keys go while a line is read. */
interface Reading {
  readonly keys: PassThrough
  /** The end of a line was handed over: the rest is not for this reader. */
  full: boolean
  /** A completion is being looked up: keys wait for it. */
  held: boolean
  /** Shows the prompt and what was typed once more. */
  redraw: () => void
}

export class Keyboard {
  readonly #input = process.stdin
  readonly #decoder = new StringDecoder('utf8')
  readonly #ahead = new TypeAhead()
  #onInterrupt: (() => void) | undefined
  #reading: Reading | undefined
  #open = false
  #ended = false
  #escape: NodeJS.Timeout | undefined
  readonly #onData = (bytes: Buffer | string) => this.#arrived(bytes)
  readonly #onEnd = () => {
    this.#ended = true
    this.#reading?.keys.end()
  }

  /** Calls back on Ctrl-C while no line is read; the returned function stops it. */
  watch(onInterrupt: () => void): () => void {
    this.#onInterrupt = onInterrupt
    this.#start()
    return () => {
      this.#onInterrupt = undefined
    }
  }

  async line(prompt: string, options: LineOptions = {}): Promise<Line> {
    this.#start()
    const { history, complete, signal, fresh } = options
    // The line editor asks its input for raw mode, and only the terminal has one.
    const keys = Object.assign(new PassThrough(), {
      setRawMode: (on: boolean) => void this.#input.setRawMode?.(on),
    })
    const reading: Reading = { keys, full: false, held: false, redraw: () => undefined }
    const before = fresh ? this.#ahead.setAside() : ''
    const reader = createInterface({
      input: keys,
      output: editorOutput(1),
      terminal: true,
      history: [...(history ?? [])].map(inOneLine),
      ...(complete && { completer: this.#completer(reading, complete) }),
    })
    reading.redraw = () => reader.prompt(true)
    this.#reading = reading
    let abort: () => void = () => undefined
    try {
      return await new Promise<Line>((resolve) => {
        abort = () => resolve({ kind: 'end' })
        if (this.#ended) abort()
        signal?.addEventListener('abort', abort, { once: true })
        reader.on('SIGINT', () => {
          resolve({ kind: 'interrupt', empty: reader.line === '' })
          // At a question in the middle of a run, it stops the whole run.
          this.#onInterrupt?.()
        })
        reader.on('close', () => resolve({ kind: 'end' }))
        reader.question(terminalText(prompt), (text) => resolve({ kind: 'line', text: withLineEnds(text) }))
        this.#feed()
      })
    } finally {
      signal?.removeEventListener('abort', abort)
      this.#reading = undefined
      this.#ahead.putBack(before)
      reader.close()
      if (this.#open) this.#input.setRawMode?.(true)
    }
  }

  /** Prints something above the line that is being typed, and shows the line again. */
  aside(print: () => void): void {
    const reading = this.#reading
    if (!reading) {
      print()
      return
    }
    write(1, cursor.home() + cursor.eraseBelow())
    print()
    reading.redraw()
  }

  close(): void {
    this.#onInterrupt = undefined
    clearTimeout(this.#escape)
    if (!this.#open) return
    this.#open = false
    write(1, cursor.pastes(false))
    this.#input.off('data', this.#onData)
    this.#input.off('end', this.#onEnd)
    this.#input.setRawMode?.(false)
    this.#input.pause()
  }

  #start(): void {
    if (this.#open) return
    this.#open = true
    this.#input.setRawMode?.(true)
    this.#input.on('data', this.#onData).on('end', this.#onEnd).resume()
    write(1, cursor.pastes(true))
  }

  #arrived(bytes: Buffer | string): void {
    const text = typeof bytes === 'string' ? bytes : this.#decoder.write(bytes)
    const { interrupts } = this.#ahead.add(text)
    this.#feed()
    clearTimeout(this.#escape)
    this.#escape = setTimeout(() => {
      this.#ahead.release()
      this.#feed()
    }, ESCAPE_MS)
    if (interrupts === 0) return
    if (this.#reading) this.#reading.keys.write('\x03')
    else this.#onInterrupt?.()
  }

  /** Hands over keys up to the end of a line. */
  #feed(): void {
    const reading = this.#reading
    if (!reading || reading.full || reading.held) return
    const keys = this.#ahead.take()
    if (keys === '') return
    reading.full = /[\r\n]$/.test(keys)
    reading.keys.write(keys)
  }

  /** Keys that arrive during a completion would be inserted before its result. */
  #completer(reading: Reading, complete: NonNullable<LineOptions['complete']>) {
    return (line: string, done: (error: null, found: [string[], string]) => void) => {
      reading.held = true
      const finish = (found: [string[], string]) => {
        done(null, found)
        reading.held = false
        this.#feed()
      }
      complete(line).then(
        ([found, part]) => finish([[...found], part]),
        // A server that cannot be asked offers no completion.
        () => finish([[], line]),
      )
    }
  }
}
