// audit-blocks.ts: audit lines while they wait, and the block that is made of them. They wait as bytes: as objects they
// would be copied by every garbage collection until they are written. They are numbered from where this process left the
// log, so that they can be written as they are unless another process wrote to it meanwhile.
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { AUDIT_LIMITS } from '../limits.ts'
import type { End } from './audit-file.ts'
import { type AuditKey, sealOf } from './audit-seal.ts'

/** `prev`, `hash` and `mac` of a line that closes a block. */
const CLOSE_BYTES = 256
const NEWLINE = 10
const NUMBER = /^\{"seq":\d+,/

/** Lines that were taken to be written. */
export interface TakenLines {
  readonly buffer: Buffer
  readonly used: number
  readonly count: number
  /** The number of the first one; undefined where they do not count up from it. */
  readonly first: number | undefined
}

export class WaitingLines {
  #bytes: Buffer = Buffer.allocUnsafeSlow(AUDIT_LIMITS.bufferBytes)
  #used = 0
  /** The latest lines are kept as text: turning many into bytes at once costs less. */
  #text = ''
  #count = 0
  #next = 1
  #first: number | undefined = 1

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#used + this.#text.length
  }

  /** `members` are those of the line as JSON, without the braces. */
  add(members: string): void {
    this.#text += `{"seq":${this.#next++},${members}}\n`
    this.#count++
    if (this.#text.length > AUDIT_LIMITS.textChars) this.#encode()
  }

  /** The log ends with this number now: the next lines follow it. */
  follow(seq: number): void {
    if (this.#next === seq + 1 + this.#count) return
    this.#next = seq + 1 + this.#count
    this.#first = this.#count === 0 ? this.#next : undefined
  }

  /** The lines so far; this object is empty afterwards. `spare` is a buffer that is no longer needed. */
  take(spare?: Buffer): TakenLines {
    this.#encode()
    const taken = { buffer: this.#bytes, used: this.#used, count: this.#count, first: this.#first }
    this.#bytes = spare ?? Buffer.allocUnsafeSlow(AUDIT_LIMITS.bufferBytes)
    this.#used = 0
    this.#count = 0
    this.#first = this.#next
    return taken
  }

  #encode(): void {
    // No character takes more than three bytes for each of its code units, and the last line will be closed.
    const needed = this.#used + this.#text.length * 3 + CLOSE_BYTES
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
      this.#bytes.copy(larger, 0, 0, this.#used)
      this.#bytes = larger
    }
    this.#used += this.#bytes.write(this.#text, this.#used)
    this.#text = ''
  }
}

/** What is written, and where the log ends then. */
export interface Block {
  readonly seq: number
  readonly hash: string
  readonly parts: readonly Buffer[]
}

/**
 * The lines as they follow the end of the log, as one block: its last line holds the hash of all of it. The first line
 * of a file is a block of its own, with a seal that says so. `gap` comes before them.
 */
export async function blockOf(
  taken: TakenLines,
  end: End,
  key: AuditKey | undefined,
  gap: string | undefined,
): Promise<Block> {
  const follows = taken.first === end.seq + 1 && gap === undefined
  const { buffer, used } = follows ? taken : await renumbered(taken, end.seq, gap)
  const last = end.seq + taken.count + (gap === undefined ? 0 : 1)
  if (!end.startsFile) return await closed(buffer, used, end, last, key, 'line')
  const firstEnd = buffer.indexOf(NEWLINE) + 1
  // A copy, because there is no room for its end.
  const firstLine = Buffer.from(buffer.subarray(0, firstEnd))
  const first = await closed(firstLine, firstEnd, end, end.seq + 1, key, 'first')
  if (firstEnd === used) return first
  const before = { hash: first.hash, open: '' }
  const rest = await closed(buffer.subarray(firstEnd), used - firstEnd, before, last, key, 'line')
  return { ...rest, parts: [...first.parts, ...rest.parts] }
}

/** Closes the block in the buffer, where there is room for it. */
async function closed(
  buffer: Buffer,
  used: number,
  { hash: prev, open }: Pick<End, 'hash' | 'open'>,
  seq: number,
  key: AuditKey | undefined,
  kind: 'first' | 'line',
): Promise<Block> {
  const out = roomFor(buffer, used)
  const sum = createHash('sha256').update(open)
  // In the place of the brace and the newline.
  let at = used - 2
  at += out.write(`,"prev":"${prev}"}`, at, 'latin1')
  // Calls run meanwhile: much of it at once would block all of them for milliseconds.
  let start = 0
  for (; at - start > AUDIT_LIMITS.hashedBytes; start += AUDIT_LIMITS.hashedBytes) {
    sum.update(out.subarray(start, start + AUDIT_LIMITS.hashedBytes))
    await setImmediate()
  }
  const hash = sum.update(out.subarray(start, at)).digest('hex')
  const mac = key && sealOf(key, kind, seq, hash)
  const seal = mac === undefined ? '' : `,"mac":"${mac}"`
  at--
  at += out.write(`,"hash":"${hash}"${seal}}\n`, at, 'latin1')
  return { seq, hash, parts: [out.subarray(0, at)] }
}

function roomFor(buffer: Buffer, used: number): Buffer {
  if (buffer.length >= used + CLOSE_BYTES) return buffer
  const larger = Buffer.allocUnsafeSlow(used + CLOSE_BYTES)
  buffer.copy(larger, 0, 0, used)
  return larger
}

/** The lines with the numbers that follow `seq`, in a buffer of their own. */
async function renumbered(
  { buffer, used }: TakenLines,
  seq: number,
  gap: string | undefined,
): Promise<Pick<TakenLines, 'buffer' | 'used'>> {
  let next = seq + 1
  const parts = gap === undefined ? [] : [Buffer.from(`{"seq":${next++},${gap}}\n`)]
  for (let start = 0; start < used; ) {
    // As above; a piece ends with a line.
    const edge = start + AUDIT_LIMITS.renumberedBytes
    const stop = edge >= used ? used : buffer.indexOf(NEWLINE, edge) + 1
    const lines = buffer.toString('utf8', start, stop - 1).split('\n')
    const text = lines.map((line) => line.replace(NUMBER, () => `{"seq":${next++},`)).join('\n')
    parts.push(Buffer.from(`${text}\n`))
    start = stop
    if (start < used) await setImmediate()
  }
  const all = Buffer.concat(parts)
  return { buffer: all, used: all.length }
}
