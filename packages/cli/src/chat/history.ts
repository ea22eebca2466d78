// history.ts: lines typed in earlier conversations, for the arrow keys. Losing them is no reason to stop.
import { join } from 'node:path'
import { lazyModule } from '@plugboard/core/lazy'

const KEPT = 500
const LINE_CHARS = 4000

export class History {
  readonly #file: string
  #lines: string[]

  constructor(folder: string) {
    this.#file = join(folder, 'chat-history')
    this.#lines = read(this.#file)
  }

  /** Newest first, as a line editor wants it. */
  get lines(): readonly string[] {
    return this.#lines
  }

  add(line: string): void {
    if (line.length > LINE_CHARS || line === this.#lines[0]) return
    this.#lines = [line, ...this.#lines].slice(0, KEPT)
    const fs = lazyModule('node:fs')
    try {
      fs.mkdirSync(join(this.#file, '..'), { recursive: true })
      const text = [...this.#lines].reverse().map((one) => JSON.stringify(one))
      fs.writeFileSync(this.#file, `${text.join('\n')}\n`, { mode: 0o600 })
    } catch {
      // A conversation works without a writable home.
    }
  }
}

function read(file: string): string[] {
  try {
    const lines = lazyModule('node:fs').readFileSync(file, 'utf8').split('\n')
    return lines
      .filter((line) => line !== '')
      .map((line) => String(JSON.parse(line)))
      .reverse()
      .slice(0, KEPT)
  } catch {
    // None yet, or not readable: then there is no history.
    return []
  }
}
