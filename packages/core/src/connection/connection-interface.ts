// connection-interface.ts: what a board uses of a connection. connection.ts is a server's own connection;
// shared-connection.ts is one board's part in a connection that several boards share.
import type { TransportType } from '../config/entry.ts'
import type { ListKind } from '../events.ts'
import type { KnownSecrets } from '../text/known-secrets.ts'
import type { Catalog } from './catalog.ts'
import type { ConnectionOptions } from './options.ts'
import type { RequestOptions } from './requests.ts'
import type { Json } from './server-info.ts'
import type { ServerLog } from './server-log.ts'
import type { ServerState } from './states.ts'

/** One server as a board uses it: its own connection, or its part in one that several boards share. */
export interface Connection {
  readonly catalog: Catalog
  /** Secrets used with the server, which logs, errors and events must not repeat. */
  readonly secrets: KnownSecrets
  readonly server: ConnectionOptions['server']
  readonly state: ServerState
  /** The transport in use, which for a plain `url` is only known after the first connect. */
  readonly type: TransportType
  readonly log: ServerLog
  /**
   * Connects if not done yet, retries a failed server if its last attempt is old enough, and waits until the state is
   * settled. Never rejects because of the server.
   */
  settled(signal?: AbortSignal): Promise<ServerState>
  /**
   * The same for a caller that cannot continue without the server: it waits a moment for a fresh verdict on a failed
   * one.
   */
  needed(signal?: AbortSignal): Promise<ServerState>
  /** The same for the board itself, or a reconnect: no caller waits, so the process is not held. */
  wake(afresh?: boolean): void
  /** The user asked for a retry at once, whatever the state: after a login, or when the server is back. */
  reconnect(signal?: AbortSignal): Promise<ServerState>
  /** Sends one request, connecting first if needed. Rejects with a `PlugboardError`. */
  request(method: string, params?: Json, options?: RequestOptions): Promise<Json>
  /** One of the server's lists, connecting first if needed; read again only when it is not fresh. */
  list<K extends ListKind>(kind: K, signal?: AbortSignal): Promise<Catalog[K]['items']>
  notify(method: string, params?: Json): Promise<void>
  subscribe(uri: string): Promise<void>
  unsubscribe(uri: string): Promise<void>
  /** Ends everything this connection owns; idempotent and bounded in time. */
  close(): Promise<void>
}
