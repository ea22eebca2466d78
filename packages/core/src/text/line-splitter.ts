// line-splitter.ts: splits a byte stream into lines, reading every byte once and decoding every line once. The caller
// interprets the lines.

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
  readonly onOverflow?: (start: string) => void
  /**
   * Decodes a chunk at once instead of line by line: faster for many short lines. A line that is kept then keeps its
   * chunk in memory, so this is for lines that are parsed and dropped.
   */
  readonly chunkwise?: boolean
  /** Called when the newline of such a line has arrived; `end` is what came before it. */
  readonly onSkipped?: (start: string, end: string) => void
  /** A carriage return alone ends a line too, as in an event stream; by default only a newline does. */
  readonly atReturns?: boolean
}

const EXCERPT_BYTES = 1024

export class LineSplitter {
  readonly #options: LineSplitterOptions
  #parts: Buffer[] = []
  #bytes = 0
  /** The last chunk ended with a carriage return; a newline at the start of the next one belongs to it. */
  #afterReturn = false
  /** The beginning of the line that is being skipped, and its latest bytes. */
  #skipped: { readonly start: string; end: Buffer } | undefined

  constructor(options: LineSplitterOptions) {
    this.#options = options
  }

  push(chunk: Buffer): void {
    if (this.#options.atReturns) {
      this.#pushAtReturns(chunk)
      return
    }
    let start = 0
    const { chunkwise, maxBytes } = this.#options
    // No line in it can be too long, and a newline is never inside a character.
    if (chunkwise && this.#bytes === 0 && !this.#skipped && chunk.length <= maxBytes) {
      const last = chunk.lastIndexOf(NEWLINE)
      if (last !== -1) this.#emitAll(chunk.toString('utf8', 0, last))
      start = last + 1
    }
    for (;;) {
      const end = chunk.indexOf(NEWLINE, start)
      if (end === -1) break
      this.#endLine(chunk, start, end)
      start = end + 1
    }
    if (start < chunk.length) this.#keep(start === 0 ? chunk : chunk.subarray(start))
  }

  #pushAtReturns(chunk: Buffer): void {
    if (chunk.length === 0) return
    let start = this.#afterReturn && chunk[0] === NEWLINE ? 1 : 0
    this.#afterReturn = false
    let newline = chunk.indexOf(NEWLINE, start)
    let carriage = chunk.indexOf(CARRIAGE_RETURN, start)
    while (newline !== -1 || carriage !== -1) {
      const isReturn = carriage !== -1 && (newline === -1 || carriage < newline)
      const end = isReturn ? carriage : newline
      this.#endLine(chunk, start, end)
      start = end + 1
      if (isReturn) {
        if (newline === start) start++
        else this.#afterReturn = start === chunk.length
        carriage = chunk.indexOf(CARRIAGE_RETURN, start)
      }
      if (newline !== -1 && newline < start) newline = chunk.indexOf(NEWLINE, start)
    }
    if (start < chunk.length) this.#keep(start === 0 ? chunk : chunk.subarray(start))
  }

  /** The stream ended: the remainder is a line without its newline. */
  end(): void {
    if (this.#bytes > 0) this.#endLine(Buffer.alloc(0), 0, 0)
    this.#forget()
  }

  #endLine(chunk: Buffer, start: number, end: number): void {
    const whole = this.#bytes === 0 && !this.#skipped
    if (whole && end - start <= this.#options.maxBytes) {
      this.#emit(chunk, start, end)
      return
    }
    this.#keep(chunk.subarray(start, end))
    const skipped = this.#skipped
    const line = skipped ? undefined : Buffer.concat(this.#parts, this.#bytes)
    this.#forget()
    if (line !== undefined) this.#emit(line, 0, line.length)
    else if (skipped) this.#options.onSkipped?.(skipped.start, skipped.end.toString('utf8'))
  }

  #emitAll(text: string): void {
    const { onLine } = this.#options
    let start = 0
    for (;;) {
      const end = text.indexOf('\n', start)
      const stop = end === -1 ? text.length : end
      const last = stop > start && text.charCodeAt(stop - 1) === CARRIAGE_RETURN ? stop - 1 : stop
      onLine(text.slice(start, last))
      if (end === -1) return
      start = end + 1
    }
  }

  #emit(bytes: Buffer, start: number, end: number): void {
    const last = end > start && bytes[end - 1] === CARRIAGE_RETURN ? end - 1 : end
    this.#options.onLine(bytes.toString('utf8', start, last))
  }

  #keep(part: Buffer): void {
    if (this.#skipped) {
      this.#skipped.end = lastBytes([this.#skipped.end, part])
      return
    }
    this.#parts.push(part)
    this.#bytes += part.length
    if (this.#bytes <= this.#options.maxBytes) return
    const start = firstBytes(this.#parts).toString('utf8')
    const end = lastBytes(this.#parts)
    this.#forget()
    this.#skipped = { start, end }
    this.#options.onOverflow?.(start)
  }

  #forget(): void {
    this.#parts = []
    this.#bytes = 0
    this.#skipped = undefined
  }
}

function firstBytes(parts: readonly Buffer[]): Buffer {
  const kept: Buffer[] = []
  let bytes = 0
  for (const part of parts) {
    if (bytes >= EXCERPT_BYTES) break
    kept.push(part.subarray(0, EXCERPT_BYTES - bytes))
    bytes += part.length
  }
  return Buffer.concat(kept)
}

/** Copied, so that the rest of a long line does not keep all of it in memory. */
function lastBytes(parts: readonly Buffer[]): Buffer {
  const kept: Buffer[] = []
  let bytes = 0
  for (let at = parts.length - 1; at >= 0 && bytes < EXCERPT_BYTES; at--) {
    const part = parts[at] ?? Buffer.alloc(0)
    kept.unshift(part.subarray(Math.max(0, part.length - (EXCERPT_BYTES - bytes))))
    bytes += part.length
  }
  return Buffer.concat(kept)
}
