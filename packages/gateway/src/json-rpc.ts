// json-rpc.ts: the JSON-RPC messages and MCP names that the gateway and its clients exchange, in both eras. No behaviour
// beyond looking at a value.
import { isObject, type Json } from '@plugboard/core/json'
import { type Era, LEGACY_VERSIONS, META, RPC, TASKS_EXTENSION } from '@plugboard/core/protocol'
import { VERSION } from '@plugboard/core/version'

export {
  ASKING_METHODS,
  LEGACY_VERSIONS,
  META,
  MODERN_VERSION,
  RPC,
  TASKS_EXTENSION,
} from '@plugboard/core/protocol'
export { type Era, isObject, type Json }
export type Id = string | number

/** A user has made too many calls; `data.retryAfterSeconds` says when to come back. */
export const RPC_RATE_LIMITED = -32029

export function isLegacyVersion(version: string): boolean {
  return LEGACY_VERSIONS.some((known) => known === version)
}

export const LOG_LEVELS: readonly string[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]

export const SERVER_INFO = { name: 'plugboard', title: 'Plugboard', version: VERSION } as const

/** What a client of 2025-11-25 may do with tasks. */
export const LEGACY_TASKS = { list: {}, cancel: {}, requests: { tools: { call: {} } } } as const

/** Results that a client of 2026-07-28 may cache; its view is its own, and may change at any time. */
export const CACHEABLE: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
])

export interface Request {
  readonly jsonrpc: '2.0'
  readonly id: Id
  readonly method: string
  readonly params: Json
}
export interface Notification {
  readonly jsonrpc: '2.0'
  readonly method: string
  readonly params: Json
}
export interface Reply {
  readonly jsonrpc: '2.0'
  readonly id: Id | null
  readonly result?: Json
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}
export type Incoming =
  | { readonly kind: 'request'; readonly message: Request }
  | { readonly kind: 'notification'; readonly message: Notification }
  | { readonly kind: 'reply'; readonly message: Reply }
  | { readonly kind: 'bad'; readonly reply: Reply }

export function isId(value: unknown): value is Id {
  return typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}

export function errorReply(id: unknown, code: number, message: string, data?: unknown): Reply {
  return {
    jsonrpc: '2.0',
    id: isId(id) ? id : null,
    error: { code, message, ...(data !== undefined && { data }) },
  }
}

/** A message as text. A result that cannot be serialized becomes an error that says so: the client still waits for it. */
export function written(message: object): string {
  try {
    return JSON.stringify(message)
  } catch (error) {
    if ('method' in message || !('id' in message)) throw error
    return JSON.stringify(
      errorReply(message.id, RPC.internal, 'The answer is nested too deeply, or too long, to be passed on.'),
    )
  }
}

/** Classifies a parsed body. */
export function sort(value: unknown): Incoming {
  const bad = (text: string, id?: unknown): Incoming => ({
    kind: 'bad',
    reply: errorReply(id, RPC.invalidRequest, text),
  })
  if (Array.isArray(value)) return bad('Batches are not served: send one message at a time.')
  if (!isObject(value) || value.jsonrpc !== '2.0') return bad('This is no JSON-RPC 2.0 message.')
  const { id, method, params, result, error } = value
  if (typeof method === 'string') {
    if (params !== undefined && !isObject(params)) return bad('Params are given by name, as an object.', id)
    const shared = { jsonrpc: '2.0', method, params: params ?? {} } as const
    if (!('id' in value)) return { kind: 'notification', message: shared }
    return isId(id) ? { kind: 'request', message: { ...shared, id } } : bad('An id is a string or a number.')
  }
  if (!isId(id)) return bad('A message has a method, or it answers one.')
  if (isObject(result)) return { kind: 'reply', message: { jsonrpc: '2.0', id, result } }
  if (isObject(error) && typeof error.code === 'number') {
    const { code, message, data } = error
    return { kind: 'reply', message: errorReply(id, code, String(message ?? ''), data) }
  }
  return bad('A message has a method, or it answers one.', id)
}

/** A request of 2026-07-28 names its version itself. */
export function metaOf(params: Json): Json {
  return isObject(params._meta) ? params._meta : {}
}
export function isModern(params: Json): boolean {
  return Object.hasOwn(metaOf(params), META.protocolVersion)
}

/** What a client calls itself in `clientInfo`. */
export function clientNameOf(clientInfo: unknown): string | undefined {
  const name = isObject(clientInfo) ? clientInfo.name : undefined
  return typeof name === 'string' ? name.slice(0, 64) : undefined
}

/** What requests a client can take. */
export interface ClientCapabilities {
  readonly elicitForm: boolean
  readonly elicitUrl: boolean
  readonly sampling: boolean
  readonly samplingTools: boolean
  readonly roots: boolean
  /** It takes a task as the answer to a call (2026-07-28). */
  readonly tasks?: boolean
  /** Extensions that are passed on, as the client declared them. */
  readonly extensions?: Readonly<Record<string, Json>>
}

/** Extensions that concern servers and clients, and that the gateway passes on: MCP Apps. */
const PASSED_EXTENSIONS: readonly string[] = ['io.modelcontextprotocol/ui']

const EXTENSION_CHARS = 1000

function passedExtensions(given: unknown): Record<string, Json> | undefined {
  if (!isObject(given)) return undefined
  const known = PASSED_EXTENSIONS.flatMap((name): [string, Json][] => {
    const declaration = given[name]
    if (!isObject(declaration)) return []
    // It travels with every request to a server, and in the sealed session.
    return [[name, JSON.stringify(declaration).length <= EXTENSION_CHARS ? declaration : {}]]
  })
  return known.length > 0 ? Object.fromEntries(known) : undefined
}

export function readCapabilities(value: unknown): ClientCapabilities {
  const { elicitation, sampling, roots, extensions } = isObject(value) ? value : ({} as Json)
  const passed = passedExtensions(extensions)
  const modes = isObject(elicitation) ? elicitation : undefined
  return {
    // Before modes had names, elicitation meant forms.
    elicitForm: modes !== undefined && (isObject(modes.form) || !isObject(modes.url)),
    elicitUrl: isObject(modes?.url),
    sampling: isObject(sampling),
    samplingTools: isObject(sampling) && isObject(sampling.tools),
    roots: isObject(roots),
    ...(isObject(extensions) && isObject(extensions[TASKS_EXTENSION]) && { tasks: true }),
    ...(passed && { extensions: passed }),
  }
}

/** The same, as a server of 2026-07-28 is told with every request. */
export function declared(of: ClientCapabilities): Json {
  return {
    ...((of.elicitForm || of.elicitUrl) && {
      elicitation: { ...(of.elicitForm && { form: {} }), ...(of.elicitUrl && { url: {} }) },
    }),
    ...(of.sampling && { sampling: of.samplingTools ? { tools: {} } : {} }),
    ...(of.roots && { roots: {} }),
    ...((of.extensions || of.tasks) && {
      extensions: { ...of.extensions, ...(of.tasks && { [TASKS_EXTENSION]: {} }) },
    }),
  }
}
