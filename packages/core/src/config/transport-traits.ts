// transport-traits.ts: what is true of each transport type, as one table. Code that treats servers differently asks
// these functions; only the table and transports/open.ts know the types by name. CONTRIBUTING.md has the steps to add one.
import type {
  HttpEntry,
  IdeEntry,
  RemoteEntry,
  SdkEntry,
  ServerEntry,
  SseEntry,
  StdioEntry,
  TransportType,
} from './entry.ts'

/**
 * How a server is reached, and so which keys its entry has: a `command` that we start, a `url`, an editor found by its
 * lock file, or a server in this process that the embedding program passes by name.
 */
export type EntryKind = 'command' | 'remote' | 'editor' | 'in-process'

export interface TransportTraits {
  readonly kind: EntryKind
  /** For sentences: "it is reached over …". */
  readonly label: string
  /** Other values of `type` in a file that mean the same. */
  readonly aliases: readonly string[]
  /** The schemes that `url` may have. */
  readonly schemes: readonly string[]
  /** `plugboard add --transport` offers it. */
  readonly offered: boolean
  /**
   * The protocol era: always legacy; asked of the server and remembered; or asked each time, because the server has
   * no signature that stays valid across runs.
   */
  readonly era: 'legacy' | 'remembered' | 'asked'
  /** What opens the channel: each message is a POST, one GET opens an event stream, or a GET becomes a WebSocket. */
  readonly opensWith: 'post' | 'event-stream' | 'websocket' | undefined
  /** OpenTelemetry's `network.transport`. */
  readonly network: 'pipe' | 'tcp' | undefined
}

const HTTP = ['http:', 'https:'] as const
const WEBSOCKET = ['ws:', 'wss:', ...HTTP] as const

const URL_TRAITS = { kind: 'remote', aliases: [], schemes: HTTP, offered: true, network: 'tcp' } as const
const EDITOR_TRAITS = { ...URL_TRAITS, kind: 'editor', offered: false, era: 'legacy' } as const

export const TRANSPORTS = {
  stdio: {
    kind: 'command',
    label: 'standard input and output',
    aliases: [],
    schemes: [],
    offered: true,
    era: 'remembered',
    opensWith: undefined,
    network: 'pipe',
  },
  http: {
    ...URL_TRAITS,
    label: 'Streamable HTTP',
    aliases: ['streamable-http'],
    era: 'remembered',
    opensWith: 'post',
  },
  sse: { ...URL_TRAITS, label: 'the legacy SSE transport', era: 'legacy', opensWith: 'event-stream' },
  ws: { ...URL_TRAITS, label: 'WebSocket', schemes: WEBSOCKET, era: 'remembered', opensWith: 'websocket' },
  'claudeai-proxy': {
    ...URL_TRAITS,
    label: 'Streamable HTTP through a proxy',
    offered: false,
    era: 'remembered',
    opensWith: 'post',
  },
  'sse-ide': { ...EDITOR_TRAITS, label: "an editor's SSE transport", opensWith: 'event-stream' },
  'ws-ide': {
    ...EDITOR_TRAITS,
    label: "an editor's WebSocket",
    schemes: WEBSOCKET,
    opensWith: 'websocket',
  },
  sdk: {
    kind: 'in-process',
    label: 'a server in this process',
    aliases: [],
    schemes: [],
    offered: false,
    era: 'asked',
    opensWith: undefined,
    network: undefined,
  },
} as const satisfies Readonly<Record<TransportType, TransportTraits>>

/** Every value that a file may give as `type`, and the transport that it means. */
export const WRITTEN_TYPES: ReadonlyMap<string, TransportType> = new Map(
  (Object.keys(TRANSPORTS) as TransportType[]).flatMap((type) =>
    [type, ...TRANSPORTS[type].aliases].map((written) => [written, type] as const),
  ),
)

/** What `plugboard add --transport` takes. */
export const OFFERED_TRANSPORTS: readonly TransportType[] = (
  Object.keys(TRANSPORTS) as TransportType[]
).filter((type) => TRANSPORTS[type].offered)

export function traitsOf({ type }: { readonly type: TransportType }): TransportTraits {
  return TRANSPORTS[type]
}

/** Of what a file or a JavaScript program wrote as `type`: undefined if no transport has that name. */
export function kindOfType(type: unknown): EntryKind | undefined {
  return typeof type === 'string' && Object.hasOwn(TRANSPORTS, type)
    ? TRANSPORTS[type as TransportType].kind
    : undefined
}

/** Is a process started for it, with arguments, an environment and a working folder? */
export function startsCommand(entry: ServerEntry): entry is StdioEntry {
  return traitsOf(entry).kind === 'command'
}

/** Is it behind a URL of its own, with headers, a headers helper and a login? */
export function isRemoteEntry(entry: ServerEntry): entry is RemoteEntry {
  return traitsOf(entry).kind === 'remote'
}

export function isEditorEntry(entry: ServerEntry): entry is IdeEntry {
  return traitsOf(entry).kind === 'editor'
}

export function isInProcess(entry: ServerEntry): entry is SdkEntry {
  return traitsOf(entry).kind === 'in-process'
}

/** Local servers take a local connection slot and are not checked over a network. */
export function isLocal(entry: ServerEntry): boolean {
  return startsCommand(entry) || isInProcess(entry)
}

/** The URL that the entry names; an editor's may come from its lock file instead. */
export function urlOf(entry: ServerEntry): string | undefined {
  return isRemoteEntry(entry) || isEditorEntry(entry) ? entry.url : undefined
}

/** The command whose output is added to the headers. */
export function headersHelperOf(entry: ServerEntry): string | undefined {
  return isRemoteEntry(entry) ? entry.headersHelper : undefined
}

/** Is each message an HTTP request of its own, which may carry extra headers and has its own answer stream? */
export function postsMessages(entry: ServerEntry): boolean {
  return traitsOf(entry).opensWith === 'post'
}

/** A `url` without a `type`: Streamable HTTP first, legacy SSE if the server responds with 4xx. */
export function fallsBackToSse(entry: ServerEntry): entry is HttpEntry & { readonly fallbackToSse: true } {
  return entry.type === 'http' && entry.fallbackToSse === true
}

/** The same entry over legacy SSE, for one that turned out to be such a server. */
export function asSse(entry: ServerEntry): ServerEntry {
  if (entry.type !== 'http') return entry
  const { fallbackToSse: _, ...rest } = entry
  return { ...rest, type: 'sse' } satisfies SseEntry
}
