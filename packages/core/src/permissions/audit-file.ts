// audit-file.ts: the audit log on disk: lines, where the chain ends, the note of the end (`.head`), rotation. Lines are
// hashed in blocks: a block is any number of lines of which the last holds `prev` (the hash of the block before) and
// `hash`, which covers the whole block. A log of an older version is the same with one line in each block.
import { createHash } from 'node:crypto'
import { open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { writeFileAtomic } from '../files/index.ts'
import { AUDIT_LIMITS } from '../limits.ts'
import { type AuditKey, isSealed, sealOf } from './audit-seal.ts'

/** The hash before the first block. */
export const START = '0'.repeat(64)

/** The hash of a block: its lines before the last one, and the last one without its hash and seal. */
export function blockHash(before: string | Buffer, last: string | Buffer): string {
  return createHash('sha256').update(before).update(last).digest('hex')
}

/** The end of a block's last line. */
export const HASH_FIELD = /,"hash":"([0-9a-f]{64})"(?:,"mac":"([0-9a-f]{64})")?\}$/

export interface End {
  /** The number of the last whole line; the next line follows it. */
  readonly seq: number
  /** The hash of the last block. */
  readonly hash: string
  /** Whole lines after it, of a writer that died: the next block begins with them. */
  readonly open: string
  /** The current file has no line yet. */
  readonly startsFile: boolean
  readonly tornAt?: number
}

function headPath(path: string): string {
  return `${path}.head`
}

export interface Head {
  readonly seq: number
  readonly hash: string
  readonly mac?: unknown
}

/** The end of the log at the last write: it reveals lines cut off the end. */
export async function writeHead(
  path: string,
  { seq, hash }: Pick<End, 'seq' | 'hash'>,
  key: AuditKey | undefined,
): Promise<void> {
  const mac = key && sealOf(key, 'head', seq, hash)
  await writeFileAtomic(headPath(path), JSON.stringify({ seq, hash, ...(mac && { mac }) }), { mode: 0o600 })
}

/** Whether lines are missing before the ones about to be written. */
export function isCut(
  end: Pick<End, 'seq' | 'hash'>,
  head: Head | undefined,
  key: AuditKey | undefined,
): boolean {
  // Every writer with the key leaves a head; a missing or unsealed one means it was removed.
  if (!head) return key !== undefined
  if (head.seq > end.seq || (head.seq === end.seq && head.hash !== end.hash)) return true
  return key !== undefined && head.seq >= key.since && !isSealed(key, 'head', head.seq, head.hash, head.mac)
}

export async function readHead(path: string): Promise<Head | undefined> {
  const text = await readFile(headPath(path), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const head = parseLine(text)
  return typeof head?.seq === 'number' && typeof head.hash === 'string'
    ? { seq: head.seq, hash: head.hash, mac: head.mac }
    : undefined
}

export function parseLine(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    // The caller treats it as an invalid line.
    return undefined
  }
}

/** Where the chain ends: in the file, or, when it is new, in the last rotated one. */
export async function endOf(path: string): Promise<End> {
  const here = await tailOf(path)
  const torn = here.tornAt !== undefined && { tornAt: here.tornAt }
  const found = endIn(here.lines)
  if (found) return { ...found, startsFile: false, ...torn }
  const previous = (await rotated(path)).at(-1)
  const before = previous === undefined ? undefined : endIn((await tailOf(previous)).lines)
  return { ...(before ?? { seq: 0, hash: START, open: '' }), startsFile: true, ...torn }
}

function endIn(lines: readonly string[]): Pick<End, 'seq' | 'hash' | 'open'> | undefined {
  if (lines.length === 0) return undefined
  const seq = parseLine(lines.at(-1) ?? '')?.seq
  let at = lines.length - 1
  while (at >= 0 && !HASH_FIELD.test(lines[at] ?? '')) at--
  const hash = HASH_FIELD.exec(lines[at] ?? '')?.[1] ?? START
  const open = lines.slice(at + 1).map((line) => `${line}\n`)
  return { seq: typeof seq === 'number' ? seq : 0, hash, open: open.join('') }
}

/** The whole lines at the end of a file, at least those since the last block unless there are too many of them. */
async function tailOf(path: string): Promise<{ lines: readonly string[]; tornAt?: number }> {
  const file = await open(path, 'r').catch(() => undefined)
  if (!file) return { lines: [] }
  try {
    const { size } = await file.stat()
    for (let bytes = TAIL_BYTES; ; bytes *= 8) {
      const start = Math.max(0, size - bytes)
      const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size - start), position: start })
      const tail = buffer.subarray(0, bytesRead)
      const lastBreak = tail.lastIndexOf(10)
      const torn = lastBreak + 1 < tail.length ? { tornAt: start + lastBreak + 1 } : {}
      // The first one may have begun before; after the last break nothing is whole.
      const rows = tail
        .subarray(0, lastBreak + 1)
        .toString('utf8')
        .split('\n')
      const lines = rows.slice(start > 0 ? 1 : 0, -1)
      if (start === 0 || bytes >= LONGEST_TAIL_BYTES || lines.some((line) => HASH_FIELD.test(line)))
        return { lines, ...torn }
    }
  } finally {
    await file.close()
  }
}

const TAIL_BYTES = 2 * AUDIT_LIMITS.lineBytes
const LONGEST_TAIL_BYTES = 64 * TAIL_BYTES

/** The rotated files, oldest first: `audit.jsonl.000000000042` ends with line 42. */
export async function rotated(path: string): Promise<string[]> {
  const names = await readdir(dirname(path)).catch(() => [])
  const start = `${basename(path)}.`
  return names
    .filter((name) => name.startsWith(start) && /^\d{12}$/.test(name.slice(start.length)))
    .sort()
    .map((name) => join(dirname(path), name))
}

export async function rotate(path: string, lastSeq: number, keep: number): Promise<void> {
  await rename(path, `${path}.${String(lastSeq).padStart(12, '0')}`)
  const old = await rotated(path)
  for (const file of old.slice(0, Math.max(0, old.length - (keep - 1)))) await unlink(file)
}
