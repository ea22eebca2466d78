// open.ts: the entry point of this layer: one entry in, one transport out, not yet started. Each kind has its own
// file, loaded when the first of its kind is opened.
import type { Transport } from '@modelcontextprotocol/client'
import type { ServerEntry, TransportType } from '../config/entry.ts'
import type { Host } from '../host.ts'
import type { TransportAuth } from './transport-auth.ts'
import type { WireExchange } from './wire-exchange.ts'

export type { TransportAuth } from './transport-auth.ts'

export interface TransportLogLine {
  readonly stream: 'stderr' | 'stdout' | 'transport'
  readonly text: string
}

export interface TransportContext {
  readonly host: Host
  readonly server: string
  readonly log: (line: TransportLogLine) => void
  readonly auth?: TransportAuth | undefined
  /** Receives values that a helper returns: logs, errors and events must not repeat them. */
  readonly learnSecret?: ((value: string) => void) | undefined
  /** A server or transport that the embedding program or a built-in provides by name. */
  readonly handOver?: ((name: string) => Promise<Transport> | Transport | undefined) | undefined
  /** Folders, to choose between several open editors. */
  readonly workspace?: readonly string[] | undefined
  /** Told of every HTTP exchange, when its response begins or it fails. */
  readonly onExchange?: ((exchange: WireExchange) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

type EntryOf<T extends TransportType> = Extract<ServerEntry, { type: T }>
type Opener<E extends ServerEntry> = (entry: E, context: TransportContext) => Promise<Transport>

const OPENERS: { readonly [T in TransportType]: Opener<EntryOf<T>> } = {
  stdio: async (entry, context) => new (await import('./stdio.ts')).StdioTransport(entry, context),
  http: async (entry, context) => (await import('./streamable-http.ts')).openHttp(entry, context),
  'claudeai-proxy': async (entry, context) => (await import('./streamable-http.ts')).openHttp(entry, context),
  sse: async (entry, context) => (await import('./sse.ts')).openSse(entry, context),
  ws: async (entry, context) => (await import('./websocket.ts')).openWebSocket(entry, context),
  'sse-ide': async (entry, context) => (await import('./ide.ts')).openIde(entry, context),
  'ws-ide': async (entry, context) => (await import('./ide.ts')).openIde(entry, context),
  sdk: async (entry, context) => (await import('./sdk-server.ts')).openHandedOver(entry, context),
}

/** The transport for an entry. The caller's client starts it, and the caller closes it. */
export function openTransport(entry: ServerEntry, context: TransportContext): Promise<Transport> {
  // The table maps every type to its own opener; TypeScript cannot follow that through an index.
  const open = OPENERS[entry.type] as Opener<ServerEntry>
  return open(entry, context)
}
