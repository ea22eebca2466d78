// lines.ts: cuts a byte stream into lines, looking at every byte once and decoding every line once.
// What a line means is the caller's affair.

const NEWLINE = 10
const CARRIAGE_RETURN = 13

export interface LineSplitterOptions {
  /** A line longer than this is not kept. */
  readonly maxBytes: number
  readonly onLine: (line: string) => void
  /**
   * Called once when a line passes `maxBytes`. The splitter then skips to the next newline;
   * `start` is the beginning of the line.
   */
  readonly onOverflow: (start: string) => void
}

const OVERFLOW_EXCERPT_BYTES = 1024

export class LineSplitter {
  readonly #options: LineSplitterOptions
  #parts: Buffer[] = []
  #bytes = 0
  #skipping = false

  constructor(options: LineSplitterOptions) {
    this.#options = options
  }

  push(chunk: Buffer): void {
    let start = 0
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start)
      if (end === -1) break
      this.#endLine(chunk, start, end)
      start = end + 1
    }
    if (start < chunk.length) this.#keep(start === 0 ? chunk : chunk.subarray(start))
  }

  /** The stream ended: what is left is a line without its newline. */
  end(): void {
    if (this.#bytes > 0) this.#endLine(Buffer.alloc(0), 0, 0)
    this.#forget()
  }

  #endLine(chunk: Buffer, start: number, end: number): void {
    if (this.#bytes === 0 && !this.#skipping) {
      if (end - start > this.#options.maxBytes) this.#overflow(chunk.subarray(start, end))
      else this.#emit(chunk, start, end)
      return
    }
    this.#keep(chunk.subarray(start, end))
    const line = this.#skipping ? undefined : Buffer.concat(this.#parts, this.#bytes)
    this.#forget()
    if (line !== undefined) this.#emit(line, 0, line.length)
  }

  #emit(bytes: Buffer, start: number, end: number): void {
    const last = end > start && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end
    this.#options.onLine(bytes.toString('utf8', start, last))
  }

  #keep(part: Buffer): void {
    if (this.#skipping) return
    this.#parts.push(part)
    this.#bytes += part.length
    if (this.#bytes <= this.#options.maxBytes) return
    const start = this.#parts[0] ?? part
    this.#forget()
    this.#skipping = true
    this.#overflow(start)
  }

  #overflow(start: Buffer): void {
    this.#options.onOverflow(start.toString('utf8', 0, OVERFLOW_EXCERPT_BYTES))
  }

  #forget(): void {
    this.#parts = []
    this.#bytes = 0
    this.#skipping = false
  }
}
