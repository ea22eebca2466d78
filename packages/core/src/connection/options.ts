// options.ts: the options of a connection.

import type { Lru } from '../async/lru.ts'
import type { Semaphore } from '../async/semaphore.ts'
import type { Events } from '../events.ts'
import type { CatalogStore } from './catalog-store.ts'
import type { ConnectAttempt } from './connect.ts'
import type { CachedList } from './lists.ts'

export interface ConnectionOptions
  extends Pick<
    ConnectAttempt,
    | 'server'
    | 'host'
    | 'eras'
    | 'handlers'
    | 'clientInfo'
    | 'auth'
    | 'handOver'
    | 'workspace'
    | 'traffic'
    | 'timeoutMs'
  > {
  readonly stateDir: string
  readonly events: Events
  readonly slots: Semaphore
  /** The cached lists of a board; past a limit the least used is dropped and read again on demand. */
  readonly recent: Lru<CachedList<unknown>>
  /** What servers listed before; without it nothing is known until a server is connected, and nothing is kept. */
  readonly store?: CatalogStore | undefined
  /** How long one request may take, unless the entry or the caller says otherwise. */
  readonly callTimeoutMs: number
  /** Numbers the calls of a board. */
  nextCall(): number
}
