// options.ts: what a connection is made with.
import type { Events } from '../events.ts'
import type { BringUp } from './bringup.ts'
import type { CachedList } from './lists.ts'
import type { Recent } from './recent.ts'
import type { Slots } from './slots.ts'

export interface ConnectionOptions
  extends Pick<
    BringUp,
    'server' | 'host' | 'eras' | 'handlers' | 'clientInfo' | 'auth' | 'handOver' | 'workspace' | 'timeoutMs'
  > {
  readonly stateDir: string
  readonly events: Events
  readonly slots: Slots
  /** The lists of a board that are kept; beyond a bound the least used is read again on need. */
  readonly recent: Recent<CachedList<unknown>>
  /** How long one request may take, unless the entry or the caller says otherwise. */
  readonly callTimeoutMs: number
  /** Numbers the calls of a board. */
  nextCall(): number
}
