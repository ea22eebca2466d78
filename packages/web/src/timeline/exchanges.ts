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
  readonly kind: 'request' | 'notification' | 'answer'
  readonly method: string
  readonly name?: string
  readonly id?: string | number
  readonly answer?: number
  readonly durationMs?: number
  readonly size: number
  readonly outcome: 'ok' | 'error' | 'tool-error' | 'open'
  /** The request that this one repeats on another connection, because it was never answered. */
  readonly retryOf?: number
  /** It was recorded while nobody looked: only what it was is known. */
  readonly isOutline?: boolean
}

export interface Filter {
  readonly text: string
  readonly server: string
  readonly kind: '' | 'work' | 'error' | 'server' | 'notification'
}

export const EMPTY_FILTER: Filter = { text: '', server: '', kind: '' }

export function exchangesOf(traffic: readonly TrafficEntry[]): readonly Exchange[] {
  const rows: Exchange[] = []
  const places = new Map<number, number>()
  /** Places of the last request for the same thing. */
  const last = new Map<string, number>()
  for (const entry of traffic) {
    const { number, answers, durationMs } = entry
    const place = answers === undefined ? undefined : places.get(answers)
    const asked = place === undefined ? undefined : rows[place]
    if (place !== undefined && asked) {
      rows[place] = {
        ...asked,
        answer: number,
        size: asked.size + entry.size,
        outcome: entry.kind === 'error' ? 'error' : entry.toolError ? 'tool-error' : 'ok',
        ...(durationMs !== undefined && { durationMs }),
      }
      continue
    }
    const row = rowOf(entry)
    const retryOf = row.kind === 'request' ? lostBefore(row, rows[last.get(subjectOf(row)) ?? -1]) : undefined
    places.set(number, rows.length)
    if (row.kind === 'request') last.set(subjectOf(row), rows.length)
    rows.push(retryOf === undefined ? row : { ...row, retryOf })
  }
  return rows
}

function subjectOf({ server, direction, method, name }: Exchange): string {
  return JSON.stringify([server, direction, method, name])
}

/** A connection that ended took its open requests with it; the board sends those again that may be repeated. */
function lostBefore(row: Exchange, before: Exchange | undefined): number | undefined {
  const isLost = before?.outcome === 'open' && before.connection !== row.connection
  return isLost && row.at - before.at < RETRY_MS ? before.number : undefined
}

const RETRY_MS = 120_000

function rowOf(entry: TrafficEntry): Exchange {
  const { number, at, server, connection, era, direction, kind, method, name, id, size, isOutline } = entry
  const isAnswer = kind === 'response' || kind === 'error'
  return {
    number,
    at,
    server,
    connection,
    direction,
    kind: isAnswer ? 'answer' : kind,
    method: method ?? (isAnswer ? 'answer' : 'message'),
    size,
    outcome: kind === 'request' ? 'open' : kind === 'error' ? 'error' : 'ok',
    ...(era && { era }),
    ...(name !== undefined && { name }),
    ...(id !== undefined && { id }),
    ...(isOutline && { isOutline }),
  }
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
      return row.outcome === 'error' || row.outcome === 'tool-error'
    case 'server':
      return row.direction === 'received'
    case 'notification':
      return row.kind === 'notification'
  }
}
