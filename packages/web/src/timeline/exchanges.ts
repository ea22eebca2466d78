// exchanges.ts: messages as rows: a request and its answer are one row, a notification is its own. Pure.
import type { TrafficEntry } from '../state/types.ts'

export interface Exchange {
  /** Of the request or the notification. */
  readonly number: number
  readonly at: number
  readonly server: string
  readonly connection: number
  readonly era?: TrafficEntry['era']
  readonly direction: TrafficEntry['direction']
  readonly kind: 'request' | 'notification' | 'answer' | 'http' | 'hook'
  readonly method: string
  readonly name?: string
  readonly id?: string | number
  readonly answer?: number
  readonly durationMs?: number
  readonly size: number
  readonly outcome: 'ok' | 'error' | 'tool-error' | 'open' | 'cancelled' | 'timed out' | 'connection closed'
  /** The request that this one repeats on another connection, because it was never answered. */
  readonly retryOf?: number
  /** The HTTP exchanges that carried it: more than one when it was sent again. */
  readonly http: readonly TrafficEntry[]
  /** The hooks that ran around the call. */
  readonly hooks: readonly TrafficEntry[]
  /** It was recorded while nobody looked: only what it was is known. */
  readonly isOutline?: boolean
}

export interface Filter {
  readonly text: string
  readonly server: string
  readonly kind: '' | 'work' | 'error' | 'cancelled' | 'server' | 'notification' | 'again' | 'hooks'
}

export const EMPTY_FILTER: Filter = { text: '', server: '', kind: '' }

export function exchangesOf(traffic: readonly TrafficEntry[]): readonly Exchange[] {
  const rows: Exchange[] = []
  const places = new Map<number, number>()
  /** Places of the last request for the same thing. */
  const last = new Map<string, number>()
  const hooks = hooksByCall(traffic)
  for (const entry of traffic) {
    const carrier = entry.carries === undefined ? undefined : places.get(entry.carries)
    const carried = carrier === undefined ? undefined : rows[carrier]
    if (carrier !== undefined && carried) {
      rows[carrier] = withHttp(carried, entry)
      continue
    }
    // Shown with its call.
    if (entry.kind === 'hook' && hooks.has(entry.call)) continue
    const { number, answers } = entry
    const place = answers === undefined ? undefined : places.get(answers)
    const asked = place === undefined ? undefined : rows[place]
    if (place !== undefined && asked) {
      rows[place] = ended(asked, entry)
      continue
    }
    // Its request is not kept any more.
    if (entry.kind === 'end') continue
    const row = rowOf(entry, hooks.get(entry.call))
    const retryOf = row.kind === 'request' ? lostBefore(row, rows[last.get(subjectOf(row)) ?? -1]) : undefined
    places.set(number, rows.length)
    if (row.kind === 'request') last.set(subjectOf(row), rows.length)
    rows.push(retryOf === undefined ? row : { ...row, retryOf })
  }
  return rows
}

/** With its answer, or without one. An answer that comes late changes nothing about the outcome. */
function ended(asked: Exchange, entry: TrafficEntry): Exchange {
  const { number, kind, durationMs, unanswered, isLate } = entry
  if (unanswered) return { ...asked, outcome: unanswered, ...(durationMs !== undefined && { durationMs }) }
  const answered = { ...asked, answer: number, size: asked.size + entry.size }
  if (isLate) return answered
  const outcome = kind === 'error' ? 'error' : entry.toolError ? 'tool-error' : 'ok'
  return { ...answered, outcome, ...(durationMs !== undefined && { durationMs }) }
}

/** Over, and no answer came in time. */
export function isUnanswered({ outcome }: Exchange): boolean {
  return outcome === 'cancelled' || outcome === 'timed out' || outcome === 'connection closed'
}

/** A request whose last exchange failed gets no answer; one that the server asked to send later is still open. */
function withHttp(row: Exchange, entry: TrafficEntry): Exchange {
  const http = [...row.http, entry]
  if (row.answer !== undefined || isUnanswered(row)) return { ...row, http }
  const waits = entry.http?.retryAfterMs !== undefined && http.length === 1
  if (!isHttpFailure(entry) || waits) return { ...row, http, outcome: 'open' }
  return { ...row, http, outcome: 'error', durationMs: entry.at - row.at }
}

/** The hooks of the calls that were sent; those of a call that was refused stay rows of their own. */
function hooksByCall(
  traffic: readonly TrafficEntry[],
): ReadonlyMap<number | undefined, readonly TrafficEntry[]> {
  const found = new Map<number | undefined, TrafficEntry[]>()
  for (const { kind, call } of traffic) if (kind === 'request' && call !== undefined) found.set(call, [])
  for (const entry of traffic) if (entry.kind === 'hook') found.get(entry.call)?.push(entry)
  return found
}

/** A server without a stream of its own, or without sessions to end, says 405: that is no failure. */
export function isHttpFailure({ http }: TrafficEntry): boolean {
  if (!http) return false
  const { failure, status = 0, method } = http
  return failure !== undefined || (status >= 400 && !(status === 405 && method !== 'POST'))
}

function subjectOf({ server, direction, method, name }: Exchange): string {
  return JSON.stringify([server, direction, method, name])
}

/** A connection that ended took its open requests with it; the board sends those again that may be repeated. */
function lostBefore(row: Exchange, before: Exchange | undefined): number | undefined {
  const isLost = before && LOST.has(before.outcome) && before.connection !== row.connection
  return isLost && row.at - before.at < RETRY_MS ? before.number : undefined
}

const RETRY_MS = 120_000
const LOST: ReadonlySet<Exchange['outcome']> = new Set(['open', 'connection closed'])

function rowOf(entry: TrafficEntry, hooks: readonly TrafficEntry[] = []): Exchange {
  const { number, at, server, connection, era, direction, kind, method, name, id, size, isOutline } = entry
  const isAnswer = kind === 'response' || kind === 'error'
  const { durationMs } = entry
  return {
    number,
    at,
    server,
    connection,
    direction,
    kind: isAnswer || kind === 'end' ? 'answer' : kind,
    method: method ?? (isAnswer ? 'answer' : 'message'),
    size,
    outcome: outcomeOf(entry),
    http: kind === 'http' ? [entry] : [],
    hooks: kind === 'hook' ? [entry] : hooks,
    ...(era && { era }),
    ...(name !== undefined && { name }),
    ...(id !== undefined && { id }),
    ...(isOutline && { isOutline }),
    ...(durationMs !== undefined && !isAnswer && { durationMs }),
  }
}

function outcomeOf(entry: TrafficEntry): Exchange['outcome'] {
  if (entry.kind === 'request') return 'open'
  const { decision } = entry.hook ?? {}
  const isFailed =
    entry.kind === 'error' || isHttpFailure(entry) || decision === 'refused' || decision === 'failed'
  return isFailed ? 'error' : 'ok'
}

const WORK = new Set(['tools/call', 'resources/read', 'prompts/get'])

export function matching(rows: readonly Exchange[], { text, server, kind }: Filter): readonly Exchange[] {
  const wanted = text.trim().toLowerCase()
  if (wanted === '' && server === '' && kind === '') return rows
  return rows.filter(
    (row) =>
      (server === '' || row.server === server) &&
      (wanted === '' ||
        `${row.method} ${row.name ?? ''} ${row.server} ${row.id ?? ''}`.toLowerCase().includes(wanted)) &&
      isOfKind(row, kind),
  )
}

function isOfKind(row: Exchange, kind: Filter['kind']): boolean {
  switch (kind) {
    case '':
      return true
    case 'work':
      return WORK.has(row.method)
    case 'error':
      return ['error', 'tool-error', 'timed out', 'connection closed'].includes(row.outcome)
    case 'cancelled':
      return row.outcome === 'cancelled'
    case 'server':
      return row.direction === 'received'
    case 'notification':
      return row.kind === 'notification'
    case 'again':
      return row.retryOf !== undefined || row.http.length > 1
    case 'hooks':
      return row.hooks.length > 0
  }
}
