// audit-lines.ts: audit lines as bytes, while they wait and while a block is made of them. As objects they would be
// copied by every garbage collection until they are written.
import { AUDIT_LIMITS } from '../limits.ts'
import { blockHash, type End } from './audit-file.ts'
import { type AuditKey, sealOf } from './audit-seal.ts'

/** Lines that wait: the members of each as JSON, without the braces. */
export class WaitingLines {
  #bytes: Buffer = Buffer.allocUnsafeSlow(AUDIT_LIMITS.bufferBytes)
  #used = 0
  /** Where each line ends. */
  #ends: number[] = []

  get count(): number {
    return this.#ends.length
  }

  get bytes(): number {
    return this.#used
  }

  add(members: string): void {
    // No character takes more than three bytes for each of its code units.
    const needed = this.#used + members.length * 3
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#bytes.length * 2))
      this.#bytes.copy(larger, 0, 0, this.#used)
      this.#bytes = larger
    }
    this.#used += this.#bytes.write(members, this.#used)
    this.#ends.push(this.#used)
  }

  /** The lines so far; this object is empty afterwards. `spare` is a buffer that is no longer needed. */
  take(spare?: Buffer): TakenLines {
    const taken = { buffer: this.#bytes, used: this.#used, ends: this.#ends }
    this.#bytes = spare ?? Buffer.allocUnsafeSlow(AUDIT_LIMITS.bufferBytes)
    this.#used = 0
    this.#ends = []
    return taken
  }
}

export interface TakenLines {
  readonly buffer: Buffer
  readonly used: number
  readonly ends: readonly number[]
}

/** `{"seq":9007199254740991,` and `}` with the newline. */
const FRAME_BYTES = 32
/** `prev`, `hash` and `mac` of a line that closes a block. */
const CLOSE_BYTES = 256
const CLOSING_BRACE = 125
const NEWLINE = 10

/** The lines of one write, from where the log ends. */
export class BlockWriter {
  seq: number
  hash: string
  readonly #key: AuditKey | undefined
  readonly #startsFile: boolean
  /** Where the lines are made; larger than needed when it was made for another write. */
  readonly out: Buffer
  #used = 0
  /** Lines of a writer that died, which the first block includes. */
  #before: string
  #blockStart = 0

  /** `bytes` are those of all members that will be added, `lines` how many lines there will be. */
  constructor(
    end: End,
    key: AuditKey | undefined,
    {
      bytes,
      lines,
      spare,
    }: { readonly bytes: number; readonly lines: number; readonly spare?: Buffer | undefined },
  ) {
    this.seq = end.seq
    this.hash = end.hash
    this.#before = end.open
    this.#startsFile = end.startsFile
    this.#key = key
    const room = bytes + lines * FRAME_BYTES + 3 * CLOSE_BYTES
    this.out = spare && spare.length >= room ? spare : Buffer.allocUnsafeSlow(room)
  }

  get bytes(): Buffer {
    return this.out.subarray(0, this.#used)
  }

  /** One more line; the last one closes the block, and so does the first of a file, which has a seal of its own. */
  add(members: Buffer, start: number, end: number, last: boolean): void {
    const out = this.out
    const isFirst = this.#startsFile && this.#used === 0
    const lineStart = this.#used
    this.#used += out.write(`{"seq":${++this.seq},`, lineStart, 'latin1')
    this.#used += members.copy(out, this.#used, start, end)
    if (last || isFirst) this.#close(lineStart, isFirst)
    else {
      out[this.#used++] = CLOSING_BRACE
      out[this.#used++] = NEWLINE
    }
  }

  #close(lineStart: number, isFirst: boolean): void {
    const out = this.out
    this.#used += out.write(`,"prev":"${this.hash}"}`, this.#used, 'latin1')
    const before = Buffer.concat([Buffer.from(this.#before), out.subarray(this.#blockStart, lineStart)])
    this.hash = blockHash(before, out.subarray(lineStart, this.#used))
    const mac = this.#key && sealOf(this.#key, isFirst ? 'first' : 'line', this.seq, this.hash)
    // In the place of the brace.
    this.#used--
    const seal = mac === undefined ? '' : `,"mac":"${mac}"`
    this.#used += out.write(`,"hash":"${this.hash}"${seal}}\n`, this.#used, 'latin1')
    this.#before = ''
    this.#blockStart = this.#used
  }
}
