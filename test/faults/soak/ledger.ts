// ledger.ts: calls, their outcomes and what the servers say they did, checked against each other.
// Entries are dropped once they can no longer change, so that a long run does not grow by its own bookkeeping.
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** A call can be retried only while it is open, so after this its outcome is final. */
const KEEP_MS = 90_000

export function pidsIn(dir: string): number[] {
  const file = join(dir, 'pids')
  return existsSync(file) ? readFileSync(file, 'utf8').split('\n').filter(Boolean).map(Number) : []
}

interface Write {
  ran: number
  outcome?: string
  settledAt?: number
}

/** After these a write surely did not happen; after the others that fail it may have. */
const NOT_DONE = new Set(['INIT_ERROR', 'DISABLED', 'TOOL_NOT_FOUND', 'SERVER_NOT_FOUND', 'INVALID_INPUT'])

export class Ledger {
  readonly #writes = new Map<string, Write>()
  readonly #read = new Map<string, number>()
  readonly #rest = new Map<string, string>()
  readonly #violation: (text: string) => void
  checked = 0

  constructor(violation: (text: string) => void) {
    this.#violation = violation
  }

  asked(nonce: string): void {
    this.#writes.set(nonce, { ran: 0 })
  }

  settled(nonce: string, outcome: string): void {
    const write = this.#writes.get(nonce)
    if (write) Object.assign(write, { outcome, settledAt: Date.now() })
  }

  /** A server says that it did it. */
  ran(line: string): void {
    const nonce = line.slice('write '.length)
    const write = this.#writes.get(nonce)
    if (!write) this.#violation(`a write that was not asked for, or long ago: ${nonce}`)
    else if (++write.ran > 1)
      this.#violation(`the write ${nonce} ran ${write.ran} times; it ended with ${write.outcome}`)
  }

  /** Reads what a server wrote since the last read. */
  collect(dir: string): void {
    const file = join(dir, 'ran')
    if (!existsSync(file)) return
    const from = this.#read.get(file) ?? 0
    const size = statSync(file).size
    if (size <= from) return
    const bytes = Buffer.alloc(size - from)
    const fd = openSync(file, 'r')
    readSync(fd, bytes, 0, bytes.length, from)
    closeSync(fd)
    this.#read.set(file, size)
    const lines = ((this.#rest.get(file) ?? '') + bytes.toString()).split('\n')
    this.#rest.set(file, lines.pop() ?? '')
    for (const line of lines) this.ran(line)
  }

  /** Checks the writes that are old enough, or all of them. */
  judge(all: boolean): void {
    for (const [nonce, { ran, outcome, settledAt }] of this.#writes) {
      if (settledAt === undefined || (!all && Date.now() - settledAt < KEEP_MS)) continue
      if (outcome === 'ok' && ran !== 1)
        this.#violation(`the write ${nonce} was answered and ran ${ran} times`)
      if (outcome !== undefined && NOT_DONE.has(outcome) && ran > 0)
        this.#violation(`the write ${nonce} ended with ${outcome} and ran all the same`)
      this.checked++
      this.#writes.delete(nonce)
    }
  }
}
