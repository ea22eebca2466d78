// last-lines.ts: the last lines of an endless output, within a byte limit.

export class LastLines {
  readonly #maxBytes: number
  #lines: string[] = []
  #first = 0
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  push(line: string): void {
    this.#lines.push(line)
    this.#bytes += line.length + 1
    while (this.#bytes > this.#maxBytes && this.#first < this.#lines.length - 1) {
      this.#bytes -= (this.#lines[this.#first]?.length ?? 0) + 1
      this.#first++
    }
    // Compacting only when half is dead keeps the cost per line constant.
    if (this.#first > 64 && this.#first * 2 > this.#lines.length) {
      this.#lines = this.#lines.slice(this.#first)
      this.#first = 0
    }
  }

  text(): string {
    return this.#lines.slice(this.#first).join('\n')
  }

  lastLines(count: number): string {
    return this.#lines.slice(Math.max(this.#first, this.#lines.length - count)).join('\n')
  }
}
