// audit.ts: the append-only record of decisions and their outcomes, one JSON object per line. Lines are gathered and
// written in blocks; each block holds the hash of the one before, so that a changed, moved or removed line is detected,
// and ends with a seal (audit-seal.ts), so that the chain cannot be recomputed without the key. A call waits for the log
// only when more lines are waiting than are kept in memory.
import { mkdir, open, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { withFileLock } from '../files/index.ts'
import type { Host } from '../host.ts'
import { AUDIT_LIMITS } from '../limits.ts'
import { blockOf, type TakenLines, WaitingLines } from './audit-blocks.ts'
import { type End, endOf, type Head, isCut, readHead, rotate, writeHead } from './audit-file.ts'
import type { AuditKey, AuditKeys } from './audit-seal.ts'
import type { Decision } from './decision-types.ts'
import { redact, redactText } from './redact.ts'

export interface AuditEvent {
  readonly server: string
  readonly tool: string
  readonly decision: Decision
  /** The outcome of the call; `refused` when it was not made. */
  readonly outcome: 'ok' | 'tool-error' | 'failed' | 'refused' | 'cancelled'
  readonly caller?: string | undefined
  /** The user of the client that called, where users have names. */
  readonly user?: string | undefined
  readonly durationMs?: number
  readonly arguments?: unknown
  /** The arguments as `shown` made them; then `arguments` may change. */
  readonly shownArguments?: string | undefined
  /** When it ended; now, when left out. */
  readonly at?: number
  /** The code of the error, never its text. */
  readonly error?: string | undefined
  /** `expect` was called for it. */
  readonly expected?: boolean
}

type Subject = Pick<AuditEvent, 'server' | 'tool' | 'caller' | 'user' | 'outcome'>

/** `line` is a JSON object without the arguments; they are JSON themselves. */
export type AuditListener = (line: string, args: string | undefined) => void

export interface AuditOptions {
  readonly path: string
  readonly host: Pick<Host, 'now' | 'backgroundTimer'>
  readonly fileBytes?: number
  readonly files?: number
  /** Where the key of the seals is stored. Without it lines are chained and not sealed. */
  readonly keys?: AuditKeys | undefined
  /** Replaces the secrets used with a server. */
  readonly hideFor?: ((server: string) => ((text: string) => string) | undefined) | undefined
  /** Gets every line too: its members as JSON, and those of the arguments apart, without secrets. */
  readonly onLine?: AuditListener | undefined
  /** Called when lines could not be written; the calls continue. */
  readonly onProblem?: (error: unknown) => void
}

export class AuditLog {
  readonly #options: Required<Omit<AuditOptions, 'onProblem' | 'onLine' | 'keys' | 'hideFor'>> &
    Pick<AuditOptions, 'onProblem' | 'onLine' | 'keys' | 'hideFor'>
  /** The constant part of a line, by decision: the same few repeat with every call. */
  readonly #reasons = new WeakMap<Decision, string>()
  readonly #waiting = new WaitingLines()
  /** The latest events: no caller should wait for their lines, and many together cost less. */
  #latest: AuditEvent[] = []
  #writing: Promise<void> | undefined
  /** Calls that wait until the lines before theirs are written. */
  readonly #crowd: (() => void)[] = []
  #dropped = 0
  #loaded: AuditKey | undefined
  /** A buffer for the next lines, while one write follows another. */
  #spare: Buffer | undefined
  #flushNow: (() => void) | undefined
  #flushing = false
  /** Lines that are still to come, of calls that were sent. */
  #expected = 0
  #allArrived: (() => void) | undefined
  /** The time of the last line and its text, and those of its second: many lines share one. */
  #clock = { at: Number.NaN, text: '' }
  #second = { at: Number.NaN, text: '' }
  #lastSubject: (Subject & { readonly text: string }) | undefined

  constructor(options: AuditOptions) {
    this.#options = { fileBytes: AUDIT_LIMITS.fileBytes, files: AUDIT_LIMITS.files, ...options }
  }

  /**
   * Records the event; the line is on disk within a fraction of a second, and after `flush`. Returns what to wait for
   * when so many lines are waiting that the next call should wait too.
   */
  record(event: AuditEvent): Promise<void> | undefined {
    if (event.expected && --this.#expected === 0) this.#allArrived?.()
    const { bytes } = this.#waiting
    const count = this.#waiting.count + this.#latest.length
    // The callers do not wait when they are told to: then lines are dropped, and the log says how many.
    if (count >= 2 * AUDIT_LIMITS.queued || bytes >= 2 * AUDIT_LIMITS.queuedBytes) {
      this.#dropped++
      return this.#writing
    }
    if (this.#latest.push(this.#lasting(event)) >= AUDIT_LIMITS.latest) this.#makeLines()
    this.#writing ??= this.#drain()
    if (count + 1 < AUDIT_LIMITS.gathered && bytes < AUDIT_LIMITS.queuedBytes) return undefined
    this.#flushNow?.()
    if (count < AUDIT_LIMITS.queued && bytes < AUDIT_LIMITS.queuedBytes) return undefined
    return new Promise((room) => this.#crowd.push(room))
  }

  /** A call was sent: its line will be recorded when it ends. */
  expect(): void {
    this.#expected++
  }

  /** The arguments of a call to this server as the log shows them: JSON, without secrets. */
  shown(server: string, args: unknown): string {
    const text = JSON.stringify(redact(args, 0, this.#options.hideFor?.(server))) ?? 'null'
    return text.length > AUDIT_LIMITS.lineBytes / 2 ? '"[too large]"' : text
  }

  /** The event as it is now: the caller may change its arguments later. */
  #lasting(event: AuditEvent): AuditEvent {
    const { server, arguments: args, shownArguments, at } = event
    if (at !== undefined && (shownArguments !== undefined || args === undefined)) return event
    return {
      ...event,
      at: at ?? this.#options.host.now(),
      shownArguments: args === undefined ? undefined : (shownArguments ?? this.shown(server, args)),
    }
  }

  #makeLines(): void {
    const { onLine } = this.#options
    for (const event of this.#latest) {
      const { shownArguments: args } = event
      const members = this.#members(event)
      this.#waiting.add(args === undefined ? members : `${members},"arguments":${args}`)
      onLine?.(`{${members}}`, args)
    }
    this.#latest = []
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

  /** Resolves when the lines of the calls that were sent have come too, and all of them are on disk. */
  async close(): Promise<void> {
    if (this.#expected > 0)
      await new Promise<void>((done) => {
        this.#allArrived = done
      })
    await this.flush()
  }

  async #drain(): Promise<void> {
    try {
      while (this.#waiting.count + this.#latest.length > 0) {
        await this.#gather()
        this.#makeLines()
        if (this.#dropped > 0) this.#waiting.add(this.#droppedLine())
        const batch = this.#waiting.take(this.#spare)
        this.#spare = undefined
        const crowd = this.#crowd.splice(0)
        // Lines that cannot be written are reported; the calls go on, and so do the lines after them.
        await this.#append(batch).catch((error) => this.#options.onProblem?.(error))
        this.#spare = batch.buffer
        for (const room of crowd) room()
      }
    } finally {
      // Kept only while one write follows another.
      this.#spare = undefined
      this.#writing = undefined
    }
  }

  /** Consecutive calls share one lock, one sync and one head; a line waits for a moment at most. */
  async #gather(): Promise<void> {
    if (this.#flushing || this.#waiting.count + this.#latest.length >= AUDIT_LIMITS.gathered) return
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

  async #append(taken: TakenLines): Promise<void> {
    const { path, fileBytes, files } = this.#options
    const lock = { waitMs: AUDIT_LIMITS.lockWaitMs, staleMs: AUDIT_LIMITS.lockStaleMs, dirMode: 0o700 }
    await withFileLock(path, lock, async () => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      const end = await endOf(path)
      const head = await readHead(path)
      const { key, fresh } = await this.#key(end)
      const gap = isCut(end, head, fresh ? undefined : key) ? this.#gap(head) : undefined
      const block = await blockOf(taken, end, key, gap)
      const file = await open(path, 'a', 0o600)
      try {
        // A writer that died in the middle of a line left half of it: that half is removed.
        if (end.tornAt !== undefined) await file.truncate(end.tornAt)
        for (const part of block.parts) await file.appendFile(part)
        await file.datasync()
      } finally {
        await file.close()
      }
      this.#waiting.follow(block.seq)
      // Without a readable key the seals at the end and at the start of a file are missing: both are added later.
      const canSeal = key !== undefined || !this.#options.keys
      if (canSeal) await writeHead(path, block, key)
      if (canSeal && (await stat(path)).size > fileBytes) await rotate(path, block.seq, files)
    })
  }

  /** A line that says how many were not recorded. */
  #droppedLine(): string {
    const line = JSON.stringify({
      time: this.#time(this.#options.host.now()),
      kind: 'dropped',
      count: this.#dropped,
    })
    this.#dropped = 0
    return line.slice(1, -1)
  }

  /** A line that says that lines before it are missing. */
  #gap(head: Head | undefined): string {
    const time = this.#time(this.#options.host.now())
    const line = JSON.stringify({ time, kind: 'gap', expectedSeq: head?.seq, expectedHash: head?.hash })
    return line.slice(1, -1)
  }

  /** The members of a line as JSON, without the braces and the arguments. */
  #members(event: AuditEvent): string {
    const { at = 0, durationMs, error, decision } = event
    let text = `"time":"${this.#time(at)}"${this.#subject(event)}`
    if (durationMs !== undefined) text += `,"durationMs":${durationMs}`
    if (error !== undefined) text += `,"error":${JSON.stringify(error)}`
    return text + this.#decided(decision)
  }

  /** Most lines are about the same tool as the line before. */
  #subject({ server, tool, caller, user, outcome }: Subject): string {
    const last = this.#lastSubject
    const isSame = last?.server === server && last.tool === tool && last.caller === caller
    if (isSame && last.user === user && last.outcome === outcome) return last.text
    const text = `,${JSON.stringify({ server, tool, caller, user, outcome }).slice(1, -1)}`
    this.#lastSubject = { server, tool, caller, user, outcome, text }
    return text
  }

  #decided(decision: Decision): string {
    const known = this.#reasons.get(decision)
    if (known !== undefined) return known
    const { kind, text, rule, source } = decision.reason
    const made = JSON.stringify({
      decision: decision.outcome,
      by: kind,
      reason: redactText(text),
      rule,
      source,
    })
    const members = `,${made.slice(1, -1)}`
    this.#reasons.set(decision, members)
    return members
  }

  #time(at: number): string {
    if (at === this.#clock.at) return this.#clock.text
    const ms = at % 1000
    if (at - ms !== this.#second.at) {
      const text = new Date(at - ms).toISOString().slice(0, -'000Z'.length)
      this.#second = { at: at - ms, text }
    }
    this.#clock = { at, text: `${this.#second.text}${String(Math.floor(ms)).padStart(3, '0')}Z` }
    return this.#clock.text
  }
}
