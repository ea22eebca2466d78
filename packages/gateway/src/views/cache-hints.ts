// cache-hints.ts: how long a client of 2026-07-28 may keep a list, and for whom: as the servers say, and where they say
// nothing, until `list_changed`. A list that its server no longer vouches for is read again for the next client.
import type { LocalBoard } from '@plugboard/core'
import { isObject, type Json } from '../json-rpc.ts'

const SECOND = 1000
/** In milliseconds. */
export const LIST_TTL = {
  /** How long a client may keep a list whose servers report changes, or say nothing. */
  usual: 300 * SECOND,
  /** The same while a server is down. */
  away: 30 * SECOND,
  /** How often a list is read again that its server calls out of date at once. */
  relist: 30 * SECOND,
} as const

export type HintedList = 'tools' | 'resources' | 'templates' | 'prompts'

export interface CacheHints {
  readonly ttlMs: number
  readonly cacheScope: 'public' | 'private'
}

/** `isShared`: every client of the endpoint is shown the same. */
export function cacheHints(
  board: LocalBoard,
  list: HintedList,
  shows: (server: string) => boolean,
  isShared: boolean,
  now: number,
): CacheHints {
  const hints = board.servers().flatMap(({ name, state }) => {
    if (state === 'disabled' || !shows(name)) return []
    return [hintOf(board, name, list, now)]
  })
  return {
    ttlMs: hints.reduce((least, { ttlMs }) => Math.min(least, ttlMs), LIST_TTL.usual),
    cacheScope:
      isShared && hints.length > 0 && hints.every(({ cacheScope }) => cacheScope === 'public')
        ? 'public'
        : 'private',
  }
}

/** The hints of one result of a server, as they may be passed on to this client. */
export function passedHints({ ttlMs, cacheScope }: Readonly<Json>, isShared: boolean): CacheHints {
  const isTime = typeof ttlMs === 'number' && ttlMs >= 0 && Number.isFinite(ttlMs)
  return {
    ttlMs: isTime ? Math.floor(ttlMs) : 0,
    cacheScope: isShared && cacheScope === 'public' ? 'public' : 'private',
  }
}

function hintOf(board: LocalBoard, server: string, list: HintedList, now: number): CacheHints {
  const { state, catalog } = board.link.connection(server)
  // One that is coming up is about to change the list; one that is down does so when it is back.
  if (state.kind === 'pending') return { ttlMs: 0, cacheScope: 'private' }
  if (state.kind !== 'connected') return { ttlMs: LIST_TTL.away, cacheScope: 'private' }
  const { capabilities } = state.session
  const offered = capabilities[list === 'templates' ? 'resources' : list]
  if (!isObject(offered)) return { ttlMs: LIST_TTL.usual, cacheScope: 'public' }
  const { cacheHint } = catalog[list]
  const cacheScope = cacheHint?.cacheScope ?? 'private'
  const isTold = offered.listChanged === true
  if (!cacheHint || (isTold && cacheHint.ttlMs === 0)) return { ttlMs: LIST_TTL.usual, cacheScope }
  // The server reports changes, so what it last said still holds.
  if (isTold) return { ttlMs: Math.floor(cacheHint.ttlMs), cacheScope }
  const age = now - cacheHint.at
  if (age >= Math.max(cacheHint.ttlMs, LIST_TTL.relist)) catalog[list].invalidate()
  return { ttlMs: Math.max(0, Math.floor(cacheHint.ttlMs - age)), cacheScope }
}
