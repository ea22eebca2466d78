// audit-verify.ts: reads the audit log back: whether it is as it was written, and its latest lines for display.
import { readFile } from 'node:fs/promises'
import { blockHash, HASH_FIELD, parseLine, readHead, rotated, START } from './audit-file.ts'
import { type AuditKey, type AuditKeys, isSealed } from './audit-seal.ts'

/** One line of the file. */
interface Entry {
  readonly seq: number
  readonly [field: string]: unknown
}

export type AuditCheck =
  | {
      readonly ok: true
      readonly lines: number
      /** The first line that is still there. */
      readonly firstSeq: number
      /** How many lines before it were rotated out and deleted: they cannot be verified. */
      readonly rotatedAway: number
      /** What the seals cover, where the log has a key. */
      readonly seals?: AuditSeals
    }
  | {
      readonly ok: false
      readonly lines: number
      readonly file: string
      readonly line: number
      readonly problem: string
    }

export interface AuditSeals {
  readonly key: AuditKey['kept']
  /** The first line written with the key; those before it were only chained, until the first seal. */
  readonly since: number
  /** Lines after the last seal: a keychain was locked, or a writer died. */
  readonly unsealed: number
}

/** Verifies the chain from the oldest file that is kept to the last line written. */
export async function verifyAudit(path: string, keys?: AuditKeys): Promise<AuditCheck> {
  const key = await keys?.load()
  const head = await readHead(path)
  const chain = new Chain(key)
  for (const file of [...(await rotated(path)), path]) {
    const rows = (await readFile(file, 'utf8').catch(() => '')).split('\n')
    // A line that is still being written has no end yet and is not a fault.
    rows.pop()
    for (const [index, row] of rows.entries()) {
      const fault = chain.follow(row, index === 0)
      const { lines, last } = chain
      // A block is judged at its last line: any of its lines may be the wrong one.
      if (fault) return { ok: false, lines, file, line: index + 1 - fault.before, problem: fault.problem }
      if (head && last?.seq === head.seq && last.hash !== head.hash)
        return { ok: false, lines, file, line: index + 1, problem: 'is not the line that was written last' }
    }
  }
  const { lines, firstSeq, unsealed } = chain
  const cut = (problem: string): AuditCheck => ({ ok: false, lines, file: path, line: lines + 1, problem })
  const last = chain.last?.seq ?? 0
  if (head && last < head.seq) return cut('is missing: the end was cut off')
  const rotatedAway = Math.max(0, firstSeq - 1)
  if (!key) return { ok: true, lines, firstSeq, rotatedAway }
  if (!head) return cut('may be missing: the end mark of the log was removed')
  if (head.seq >= key.since && !isSealed(key, 'head', head.seq, head.hash, head.mac))
    return cut('may be missing: the end mark of the log has no seal of this key')
  if (last >= key.since && unsealed > last - key.since)
    return cut(
      'is not sealed, and neither is any other line since the key came into use: the seals were removed',
    )
  return { ok: true, lines, firstSeq, rotatedAway, seals: { key: key.kept, since: key.since, unsealed } }
}

/** A fault, found this many lines after the first one that it may be in. */
interface ChainFault {
  readonly problem: string
  readonly before: number
}

/** The chain as far as it was followed. */
class Chain {
  lines = 0
  firstSeq = 0
  /** Lines since the last seal. */
  unsealed = 0
  /** The last line; its hash when it closes a block. */
  last: { readonly seq: number; readonly hash: string | undefined } | undefined
  readonly #key: AuditKey | undefined
  #hash: string | undefined
  /** The lines since the last block. */
  #open = ''
  #openLines = 0

  constructor(key: AuditKey | undefined) {
    this.#key = key
  }

  follow(row: string, startsFile: boolean): ChainFault | undefined {
    const entry = parseLine(row) as Entry | undefined
    const [, hash, mac] = HASH_FIELD.exec(row) ?? []
    const before = this.#openLines
    if (typeof entry?.seq !== 'number') return { problem: 'is not an audit line', before: 0 }
    if (entry.kind === 'gap') return { problem: 'follows lines that were removed', before: 0 }
    const begins = !this.last && entry.seq === 1
    if (this.last && entry.seq !== this.last.seq + 1)
      return { problem: 'does not follow the line before it', before: 0 }
    if (hash === undefined && startsFile && this.#isSealedFrom(entry.seq))
      return { problem: NOT_FIRST, before: 0 }
    if (hash !== undefined) {
      if (blockHash(this.#open, row.replace(HASH_FIELD, '}')) !== hash)
        return { problem: before === 0 ? CHANGED : `or a line after it ${CHANGED}`, before }
      if (this.#hash !== undefined && entry.prev !== this.#hash)
        return { problem: 'does not follow the line before it', before }
      if (begins && entry.prev !== START) return { problem: 'does not start the chain', before: 0 }
      const problem = this.#sealFault(entry.seq, hash, mac, startsFile)
      if (problem !== undefined) return { problem, before }
    }
    this.#add(row, entry.seq, hash, mac !== undefined)
    return undefined
  }

  #add(row: string, seq: number, hash: string | undefined, sealed: boolean): void {
    if (!this.last) this.firstSeq = seq
    this.last = { seq, hash }
    this.lines++
    this.unsealed = sealed ? 0 : this.unsealed + 1
    this.#hash = hash ?? this.#hash
    this.#open = hash === undefined ? `${this.#open}${row}\n` : ''
    this.#openLines = hash === undefined ? this.#openLines + 1 : 0
  }

  #isSealedFrom(seq: number): boolean {
    return this.#key !== undefined && seq >= this.#key.since
  }

  #sealFault(seq: number, hash: string, mac: string | undefined, startsFile: boolean): string | undefined {
    const key = this.#key
    if (mac === undefined) return startsFile && this.#isSealedFrom(seq) ? NOT_FIRST : undefined
    if (!key) return 'is sealed with a key that is not here, so it cannot be checked'
    return isSealed(key, startsFile ? 'first' : 'line', seq, hash, mac)
      ? undefined
      : 'has a seal that does not fit: it, or a line before it, was changed or removed'
  }
}

const CHANGED = 'was changed after it was written'
const NOT_FIRST = 'does not start its file: lines before it were removed'

/** The latest lines, newest last, for display. */
export async function readAudit(path: string, limit: number): Promise<readonly Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = []
  for (const file of [path, ...(await rotated(path)).reverse()]) {
    const text = await readFile(file, 'utf8').catch(() => '')
    const entries = text.split('\n').flatMap((row) => {
      const entry = parseLine(row)
      return entry ? [entry] : []
    })
    found.unshift(...entries)
    if (found.length >= limit) break
  }
  return found.slice(-limit)
}
