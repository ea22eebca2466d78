// audit.ts: the append-only record of decisions and their outcomes. One JSON object per line; each line holds the
// hash of the one before, so that a changed, moved or removed line is detected, and each batch ends with a seal
// (audit-seal.ts), so that the chain cannot be recomputed without the key. Writing never delays a call.
import * as crypto from 'node:crypto'
import { mkdir, open, readdir, readFile, rename, stat, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { withFileLock, writeFileAtomic } from '../files/index.ts'
import type { Host } from '../host.ts'
import { AUDIT_LIMITS } from '../limits.ts'
import { type AuditKey, type AuditKeys, isSealed, sealOf } from './audit-seal.ts'
import type { Decision } from './decision-types.ts'
import { redact, redactText } from './redact.ts'

export interface AuditEvent {
  readonly server: string
  readonly tool: string
  readonly decision: Decision
  /** The outcome of the call; `refused` when it was not made. */
  readonly outcome: 'ok' | 'tool-error' | 'failed' | 'refused' | 'cancelled'
  readonly caller?: string
  readonly durationMs?: number
  readonly arguments?: unknown
  /** The code of the error, never its text. */
  readonly error?: string
}

/** One line of the file. */
interface Entry {
  readonly seq: number
  readonly time: string
  readonly prev: string
  readonly hash: string
  readonly [field: string]: unknown
}

export interface AuditOptions {
  readonly path: string
  readonly host: Pick<Host, 'now' | 'backgroundTimer'>
  readonly fileBytes?: number
  readonly files?: number
  /** Where the key of the seals is stored. Without it lines are chained and not sealed. */
  readonly keys?: AuditKeys | undefined
  /** Replaces the secrets used with a server. */
  readonly hideFor?: ((server: string) => ((text: string) => string) | undefined) | undefined
  /** Called when lines could not be written; the calls continue. */
  readonly onProblem?: (error: unknown) => void
}

const START = '0'.repeat(64)
const TAIL_BYTES = 2 * AUDIT_LIMITS.lineBytes

export class AuditLog {
  readonly #options: Required<Omit<AuditOptions, 'onProblem' | 'keys' | 'hideFor'>> &
    Pick<AuditOptions, 'onProblem' | 'keys' | 'hideFor'>
  readonly #reasons = new Map<string, string>()
  #waiting: Record<string, unknown>[] = []
  #writing: Promise<void> | undefined
  #dropped = 0
  #loaded: AuditKey | undefined
  #flushNow: (() => void) | undefined
  #flushing = false

  constructor(options: AuditOptions) {
    this.#options = { fileBytes: AUDIT_LIMITS.fileBytes, files: AUDIT_LIMITS.files, ...options }
  }

  /** Records the event and returns at once; the line is on disk within a fraction of a second, and after `flush`. */
  record(event: AuditEvent): void {
    if (this.#waiting.length >= AUDIT_LIMITS.queued) {
      this.#dropped++
      return
    }
    const { decision, arguments: args, ...rest } = event
    this.#waiting.push({
      time: new Date(this.#options.host.now()).toISOString(),
      ...rest,
      decision: decision.outcome,
      by: decision.reason.kind,
      reason: this.#reason(decision.reason.text),
      ...(decision.reason.rule !== undefined && { rule: decision.reason.rule }),
      ...(decision.reason.source !== undefined && { source: decision.reason.source }),
      ...(args !== undefined && { arguments: redact(args, 0, this.#options.hideFor?.(event.server)) }),
    })
    this.#writing ??= this.#drain()
    if (this.#waiting.length >= AUDIT_LIMITS.gathered) this.#flushNow?.()
  }

  /** The same few reasons repeat with every call. */
  #reason(text: string): string {
    const known = this.#reasons.get(text)
    if (known !== undefined) return known
    const clean = redactText(text)
    if (this.#reasons.size >= AUDIT_LIMITS.reasons) this.#reasons.clear()
    this.#reasons.set(text, clean)
    return clean
  }

  /** Resolves when everything recorded so far is on disk, or failed to be written. */
  async flush(): Promise<void> {
    this.#flushing = true
    while (this.#writing) {
      this.#flushNow?.()
      await this.#writing
    }
    this.#flushing = false
  }

  async #drain(): Promise<void> {
    try {
      while (this.#waiting.length > 0) {
        await this.#gather()
        const batch = this.#waiting
        this.#waiting = []
        if (this.#dropped > 0) batch.push({ time: this.#time(), kind: 'dropped', count: this.#dropped })
        this.#dropped = 0
        await this.#append(batch)
      }
    } catch (error) {
      this.#options.onProblem?.(error)
    } finally {
      this.#writing = undefined
    }
  }

  /** Consecutive calls share one lock, one sync and one head; a line waits for a moment at most. */
  async #gather(): Promise<void> {
    if (this.#flushing || this.#waiting.length >= AUDIT_LIMITS.gathered) return
    await new Promise<void>((done) => {
      const stop = this.#options.host.backgroundTimer(AUDIT_LIMITS.gatherMs, done)
      this.#flushNow = () => {
        stop()
        done()
      }
    })
    this.#flushNow = undefined
  }

  /** The key, created when the first line is written. Without it (a locked keychain) the lines wait for a seal. */
  async #key(end: End): Promise<{ key?: AuditKey; fresh?: boolean }> {
    const { keys, path } = this.#options
    try {
      this.#loaded ??= await keys?.load()
      if (this.#loaded || !keys) return this.#loaded ? { key: this.#loaded } : {}
      const { key, save } = await keys.make(end.seq + 1)
      // The head first: a key without one would mean that the log was deleted.
      await writeHead(path, end, key)
      await save()
      this.#loaded = key
      return { key, fresh: true }
    } catch (error) {
      this.#options.onProblem?.(error)
      return {}
    }
  }

  #time(): string {
    return new Date(this.#options.host.now()).toISOString()
  }

  async #append(batch: readonly Record<string, unknown>[]): Promise<void> {
    const { path, fileBytes, files } = this.#options
    const lock = { waitMs: AUDIT_LIMITS.lockWaitMs, staleMs: AUDIT_LIMITS.lockStaleMs, dirMode: 0o700 }
    await withFileLock(path, lock, async () => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      let end = await endOf(path)
      const head = await readHead(path)
      const { key, fresh } = await this.#key(end)
      const lines: string[] = []
      const add = (fields: Record<string, unknown>, last: boolean) => {
        const isFirst = end.startsFile && lines.length === 0
        const kind = isFirst ? 'first' : last ? 'line' : undefined
        const { line, hash } = chained(fields, end, kind && key && { key, kind })
        lines.push(line)
        end = { ...end, seq: end.seq + 1, hash }
      }
      if (isCut(end, head, fresh ? undefined : key))
        add({ time: this.#time(), kind: 'gap', expectedSeq: head?.seq, expectedHash: head?.hash }, false)
      for (const [at, fields] of batch.entries()) {
        // Calls run meanwhile: many lines at once would block all of them for milliseconds.
        if (at % AUDIT_LIMITS.sealed === AUDIT_LIMITS.sealed - 1) await setImmediate()
        add(fields, at === batch.length - 1)
      }
      const file = await open(path, 'a', 0o600)
      try {
        // A writer that died in the middle of a line left half of it: that half is removed.
        if (end.tornAt !== undefined) await file.truncate(end.tornAt)
        await file.appendFile(lines.join(''))
        await file.datasync()
      } finally {
        await file.close()
      }
      // Without a readable key the seals at the end and at the start of a file are missing: both are added later.
      const canSeal = key !== undefined || !this.#options.keys
      if (canSeal) await writeHead(path, end, key)
      if (canSeal && (await stat(path)).size > fileBytes) await rotate(path, end.seq, files)
    })
  }
}

interface End {
  /** The number and hash of the last whole line; the next line follows them. */
  readonly seq: number
  readonly hash: string
  /** The current file has no line yet. */
  readonly startsFile: boolean
  readonly tornAt?: number
}

/** The line with its own hash, which covers everything before it on the line, and with a seal where it gets one. */
function chained(
  fields: Record<string, unknown>,
  end: End,
  seal: { readonly key: AuditKey; readonly kind: 'first' | 'line' } | undefined,
): { line: string; hash: string } {
  const entry = { seq: end.seq + 1, ...fields, prev: end.hash }
  let body = JSON.stringify(entry)
  if (body.length > AUDIT_LIMITS.lineBytes / 2)
    body = JSON.stringify({ ...entry, arguments: '[too large]', prev: end.hash })
  const hash = digest(body)
  const mac = seal ? `,"mac":"${sealOf(seal.key, seal.kind, end.seq + 1, hash)}"` : ''
  return { line: `${body.slice(0, -1)},"hash":"${hash}"${mac}}\n`, hash }
}

/** In one step where Node has it (20.12): a third of the cost of a line. */
const digest: (body: string) => string =
  typeof crypto.hash === 'function'
    ? (body) => crypto.hash('sha256', body)
    : (body) => crypto.createHash('sha256').update(body).digest('hex')

const HASH_FIELD = /,"hash":"([0-9a-f]{64})"(?:,"mac":"([0-9a-f]{64})")?\}$/

function hashOfLine(line: string): string {
  return HASH_FIELD.exec(line.trimEnd())?.[1] ?? START
}

function headPath(path: string): string {
  return `${path}.head`
}

interface Head {
  readonly seq: number
  readonly hash: string
  readonly mac?: unknown
}

/** The end of the log at the last write: it reveals lines cut off the end. */
async function writeHead(path: string, { seq, hash }: End, key: AuditKey | undefined): Promise<void> {
  const mac = key && sealOf(key, 'head', seq, hash)
  await writeFileAtomic(headPath(path), JSON.stringify({ seq, hash, ...(mac && { mac }) }), { mode: 0o600 })
}

/** Whether lines are missing before the ones about to be written. */
function isCut(end: End, head: Head | undefined, key: AuditKey | undefined): boolean {
  // Every writer with the key leaves a head; a missing or unsealed one means it was removed.
  if (!head) return key !== undefined
  if (head.seq > end.seq || (head.seq === end.seq && head.hash !== end.hash)) return true
  return key !== undefined && head.seq >= key.since && !isSealed(key, 'head', head.seq, head.hash, head.mac)
}

async function readHead(path: string): Promise<Head | undefined> {
  const text = await readFile(headPath(path), 'utf8').catch(() => undefined)
  if (text === undefined) return undefined
  const head = parse(text)
  return typeof head?.seq === 'number' && typeof head.hash === 'string'
    ? { seq: head.seq, hash: head.hash, mac: head.mac }
    : undefined
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    // The caller treats it as an invalid line.
    return undefined
  }
}

/** Where the chain ends: in the file, or, when it is new, in the last rotated one. */
async function endOf(path: string): Promise<End> {
  const here = await lastLine(path)
  if (here.line !== undefined) return endAt(here, false)
  const previous = (await rotated(path)).at(-1)
  const before = previous === undefined ? undefined : await lastLine(previous)
  const end = before?.line === undefined ? { seq: 0, hash: START } : endAt(before, true)
  return {
    seq: end.seq,
    hash: end.hash,
    startsFile: true,
    ...(here.tornAt !== undefined && { tornAt: here.tornAt }),
  }
}

function endAt({ line, tornAt }: { line?: string; tornAt?: number }, startsFile: boolean): End {
  const seq = parse(line ?? '')?.seq
  return {
    seq: typeof seq === 'number' ? seq : 0,
    hash: hashOfLine(line ?? ''),
    startsFile,
    ...(tornAt !== undefined && { tornAt }),
  }
}

async function lastLine(path: string): Promise<{ line?: string; tornAt?: number }> {
  const file = await open(path, 'r').catch(() => undefined)
  if (!file) return {}
  try {
    const { size } = await file.stat()
    const start = Math.max(0, size - TAIL_BYTES)
    const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(size - start), position: start })
    const tail = buffer.subarray(0, bytesRead)
    const lastBreak = tail.lastIndexOf(10)
    const torn = lastBreak + 1 < tail.length ? { tornAt: start + lastBreak + 1 } : {}
    if (lastBreak < 0) return torn
    const before = tail.subarray(0, lastBreak).lastIndexOf(10)
    return { line: tail.subarray(before + 1, lastBreak).toString('utf8'), ...torn }
  } finally {
    await file.close()
  }
}

/** The rotated files, oldest first: `audit.jsonl.000000000042` ends with line 42. */
async function rotated(path: string): Promise<string[]> {
  const names = await readdir(dirname(path)).catch(() => [])
  const start = `${basename(path)}.`
  return names
    .filter((name) => name.startsWith(start) && /^\d{12}$/.test(name.slice(start.length)))
    .sort()
    .map((name) => join(dirname(path), name))
}

async function rotate(path: string, lastSeq: number, keep: number): Promise<void> {
  await rename(path, `${path}.${String(lastSeq).padStart(12, '0')}`)
  const old = await rotated(path)
  for (const file of old.slice(0, Math.max(0, old.length - (keep - 1)))) await unlink(file)
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
  let previous: { seq: number; hash: string } | undefined
  let firstSeq = 0
  let lines = 0
  let unsealed = 0
  for (const file of [...(await rotated(path)), path]) {
    const rows = (await readFile(file, 'utf8').catch(() => '')).split('\n')
    // A line that is still being written has no end yet and is not a fault.
    rows.pop()
    for (const [index, row] of rows.entries()) {
      const { problem, entry, hash, isSealed: sealed } = checkRow(row, previous, key, index === 0)
      if (problem !== undefined) return { ok: false, lines, file, line: index + 1, problem }
      if (head?.seq === entry.seq && head.hash !== hash)
        return { ok: false, lines, file, line: index + 1, problem: 'is not the line that was written last' }
      if (!previous) firstSeq = entry.seq
      unsealed = sealed ? 0 : unsealed + 1
      previous = { seq: entry.seq, hash }
      lines++
    }
  }
  const cut = (problem: string): AuditCheck => ({ ok: false, lines, file: path, line: lines + 1, problem })
  const last = previous?.seq ?? 0
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

type CheckedRow =
  | { readonly problem: string; readonly entry?: never; readonly hash?: never; readonly isSealed?: never }
  | { readonly problem?: never; readonly entry: Entry; readonly hash: string; readonly isSealed: boolean }

function checkRow(
  row: string,
  previous: { readonly seq: number; readonly hash: string } | undefined,
  key: AuditKey | undefined,
  startsFile: boolean,
): CheckedRow {
  const entry = parse(row) as Entry | undefined
  const [, hash, mac] = HASH_FIELD.exec(row) ?? []
  if (!entry || hash === undefined || typeof entry.seq !== 'number')
    return { problem: 'is not an audit line' }
  if (digest(row.replace(HASH_FIELD, '}')) !== hash) return { problem: 'was changed after it was written' }
  if (entry.kind === 'gap') return { problem: 'follows lines that were removed' }
  if (previous && (entry.seq !== previous.seq + 1 || entry.prev !== previous.hash))
    return { problem: 'does not follow the line before it' }
  if (!previous && entry.seq === 1 && entry.prev !== START) return { problem: 'does not start the chain' }
  if (!key)
    return mac === undefined
      ? { entry, hash, isSealed: false }
      : { problem: 'is sealed with a key that is not here, so it cannot be checked' }
  const mustStart = startsFile && entry.seq >= key.since
  if (mac === undefined)
    return mustStart
      ? { problem: 'does not start its file: lines before it were removed' }
      : { entry, hash, isSealed: false }
  return isSealed(key, startsFile ? 'first' : 'line', entry.seq, hash, mac)
    ? { entry, hash, isSealed: true }
    : { problem: 'has a seal that does not fit: it, or a line before it, was changed or removed' }
}

/** The latest lines, newest last, for display. */
export async function readAudit(path: string, limit: number): Promise<readonly Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = []
  for (const file of [path, ...(await rotated(path)).reverse()]) {
    const text = await readFile(file, 'utf8').catch(() => '')
    const entries = text.split('\n').flatMap((row) => {
      const entry = parse(row)
      return entry ? [entry] : []
    })
    found.unshift(...entries)
    if (found.length >= limit) break
  }
  return found.slice(-limit)
}
