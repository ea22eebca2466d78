// server-info.ts: what a session knows about the protocol: the terms of ../protocol.ts, and the JSON shapes that it
// accepts in what a server says about itself.
import type { Transport as SdkTransport } from '@modelcontextprotocol/client'
import { isObject } from '../json.ts'
import { META } from '../protocol.ts'

export { isObject, type Json } from '../json.ts'
export {
  ASKING_METHODS,
  type Era,
  LEGACY_VERSIONS,
  META,
  MODERN_VERSION,
  RPC,
  TASKS_EXTENSION,
} from '../protocol.ts'

/** A transport of the SDK's shape; ours may also take a message without a promise for it. */
export interface Transport extends SdkTransport {
  /**
   * Sends the message, in order with those of `send`; the sender is told if it could not be sent. `alone`: no other
   * request is open, so that waiting for more messages to send with it would only cost time.
   */
  post?(
    message: Parameters<SdkTransport['send']>[0],
    sender: { failed(error: unknown): void },
    alone: boolean,
  ): void
  /** The process of a server that we started. */
  readonly pid?: number | null
}

/** Requests that change nothing on the server, or the same when sent twice. */
export const READING_METHODS: ReadonlySet<string> = new Set([
  'tasks/get',
  'tasks/result',
  'tasks/list',
  'tasks/cancel',
  'tasks/update',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'skills/list',
  'completion/complete',
  'server/discover',
  'ping',
])

export interface ServerInfo {
  readonly name: string
  readonly version?: string
  readonly title?: string
}

export interface ServerCapabilities {
  readonly tools?: { readonly listChanged?: boolean }
  readonly resources?: { readonly listChanged?: boolean; readonly subscribe?: boolean }
  readonly prompts?: { readonly listChanged?: boolean }
  readonly logging?: object
  readonly completions?: object
  readonly [extension: string]: unknown
}

/** What a modern server says about itself, verbatim. */
export interface Discovery {
  readonly supportedVersions: readonly string[]
  readonly capabilities: ServerCapabilities
  readonly instructions?: string
  readonly serverInfo?: ServerInfo
  readonly ttlMs?: number
}

/** Undefined when it is not a discovery result: then the server is legacy. */
export function parseDiscovery(value: unknown): Discovery | undefined {
  if (!isObject(value)) return undefined
  const { supportedVersions, capabilities, instructions, ttlMs } = value
  if (!Array.isArray(supportedVersions) || !supportedVersions.every((item) => typeof item === 'string'))
    return undefined
  if (!isObject(capabilities)) return undefined
  const info = parseServerInfo(isObject(value._meta) ? value._meta[META.serverInfo] : undefined)
  return {
    supportedVersions,
    capabilities: parseCapabilities(capabilities),
    ...(typeof instructions === 'string' && { instructions }),
    ...(info && { serverInfo: info }),
    ...(typeof ttlMs === 'number' && ttlMs >= 0 && { ttlMs }),
  }
}

/** A capability counts when it is an object; anything else counts as not declared. */
export function parseCapabilities(value: unknown): ServerCapabilities {
  if (!isObject(value)) return {}
  return Object.fromEntries(Object.entries(value).filter(([, item]) => isObject(item)))
}

export function parseServerInfo(value: unknown): ServerInfo | undefined {
  if (!isObject(value) || typeof value.name !== 'string') return undefined
  const { name, version, title } = value
  return {
    name,
    ...(typeof version === 'string' && { version }),
    ...(typeof title === 'string' && { title }),
  }
}
