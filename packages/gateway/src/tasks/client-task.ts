// client-task.ts: one task of a client: a call that goes on here while its client polls, whatever the server makes of it. Both
// eras see the same task in their own words. Which tasks there are, and for how long, is task-store.ts.
import type { TaskState, TaskStatus } from '@plugboard/core'
import type { Client } from '../client-request.ts'
import { wireError } from '../errors.ts'
import { isObject, type Json, META, metaOf } from '../json-rpc.ts'
import { randomId } from '../sealing/random-id.ts'

/** The call behind a task. */
export interface TaskWork {
  readonly client: Pick<Client, 'id' | 'era' | 'owner'>
  /** The client is told only the code of a failure. */
  readonly isNarrow: boolean
  /** The questions that wait for the client, by key. */
  inputRequests(): Json
  answer(inputResponses: unknown): void
  stop(): void
}

export type TaskOutcome = { readonly result: Json } | { readonly error: unknown }

/** Between two polls of a client, where the server names no interval. */
const POLL_MS = 1000

export class ClientTask {
  readonly id: string
  readonly work: TaskWork
  readonly ttlMs: number
  readonly #created = Date.now()
  readonly #waiters = new Set<() => void>()
  readonly #listeners = new Set<() => void>()
  #changed = this.#created
  #told = ''
  #said: TaskState | undefined
  #outcome: TaskOutcome | undefined
  #isCancelled = false

  constructor(work: TaskWork, ttlMs: number, replica?: string) {
    this.work = work
    this.ttlMs = ttlMs
    const name = randomId(18)
    this.id = replica === undefined ? name : `${replica}.${name}`
  }

  get isOver(): boolean {
    return this.#isCancelled || this.#outcome !== undefined
  }

  get status(): TaskStatus {
    if (this.#isCancelled) return 'cancelled'
    const outcome = this.#outcome
    if (!outcome) return Object.keys(this.work.inputRequests()).length > 0 ? 'input_required' : 'working'
    if ('error' in outcome) return 'failed'
    // In 2025-11-25 a tool's own error is a failure of the task.
    return this.work.client.era === 'legacy' && outcome.result.isError === true ? 'failed' : 'completed'
  }

  /** The size of what is kept for the client, as text. */
  get keptChars(): number {
    const outcome = this.#outcome
    return outcome && 'result' in outcome ? JSON.stringify(outcome.result).length : 0
  }

  /** News of the server's own task. */
  said(state: TaskState): void {
    this.#said = state
    this.touched()
  }

  touched(): void {
    this.#changed = Date.now()
    const state = JSON.stringify([
      this.status,
      this.#said?.statusMessage,
      Object.keys(this.work.inputRequests()),
    ])
    if (state === this.#told) return
    this.#told = state
    for (const tell of [...this.#listeners]) tell()
  }

  /** Called when its status, its message or its questions change. Returns what ends it. */
  onChange(tell: () => void): () => void {
    this.#listeners.add(tell)
    return () => this.#listeners.delete(tell)
  }

  ended(outcome: TaskOutcome): void {
    if (this.isOver) return
    this.#outcome = 'result' in outcome ? { result: withoutRelatedTask(outcome.result) } : outcome
    this.#over()
  }

  cancel(): void {
    if (this.isOver) return
    this.#isCancelled = true
    this.work.stop()
    this.#over()
  }

  /** Resolves when it is over, or the signal is aborted. */
  over(signal: AbortSignal): Promise<void> {
    if (this.isOver || signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const done = () => {
        this.#waiters.delete(done)
        signal.removeEventListener('abort', done)
        resolve()
      }
      this.#waiters.add(done)
      signal.addEventListener('abort', done, { once: true })
    })
  }

  /** What the call itself would have returned; throws what it would have thrown. */
  result(): Json {
    const outcome = this.#outcome
    if (outcome && 'error' in outcome) throw outcome.error
    return outcome?.result ?? {}
  }

  /** As 2026-07-28 has it, without what only some states carry. */
  summary(): Json {
    return { ...this.#shared(), ttlMs: this.ttlMs, pollIntervalMs: this.#pollMs }
  }

  /** The same with the result, the error or the questions. */
  details(): Json {
    const { status } = this
    const outcome = this.#outcome
    return {
      ...this.summary(),
      ...(status === 'input_required' && { inputRequests: this.work.inputRequests() }),
      ...(status === 'completed' && outcome && 'result' in outcome && { result: outcome.result }),
      ...(status === 'failed' &&
        outcome &&
        'error' in outcome && { error: wireError(outcome.error, 'modern', this.work.isNarrow) }),
    }
  }

  /** As 2025-11-25 has it. */
  legacySummary(): Json {
    return { ...this.#shared(), ttl: this.ttlMs, pollInterval: this.#pollMs }
  }

  #shared(): Json {
    const statusMessage = this.isOver ? undefined : this.#said?.statusMessage
    return {
      taskId: this.id,
      status: this.status,
      ...(statusMessage !== undefined && { statusMessage }),
      createdAt: new Date(this.#created).toISOString(),
      lastUpdatedAt: new Date(this.#changed).toISOString(),
    }
  }

  get #pollMs(): number {
    return this.#said?.pollIntervalMs ?? POLL_MS
  }

  #over(): void {
    this.touched()
    for (const done of [...this.#waiters]) done()
  }
}

/** A legacy server names its own task, which the client does not know. */
function withoutRelatedTask(result: Json): Json {
  if (!isObject(result._meta) || !(META.relatedTask in result._meta)) return result
  const { [META.relatedTask]: _, ...meta } = metaOf(result)
  const { _meta, ...rest } = result
  return Object.keys(meta).length > 0 ? { ...rest, _meta: meta } : rest
}
