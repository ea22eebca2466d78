// protocol.ts: the words of the protocol that a session speaks, in both eras, and the JSON shapes it trusts.
// No behaviour beyond looking at a value.
import type { Transport } from '@modelcontextprotocol/client'

export type { Transport }

export type Json = Record<string, unknown>
export type Era = 'legacy' | 'modern'

/** Newest first; the first is what `initialize` offers. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'] as const
export const MODERN_VERSION = '2026-07-28'

const PREFIX = 'io.modelcontextprotocol/'
export const META = {
  protocolVersion: `${PREFIX}protocolVersion`,
  clientInfo: `${PREFIX}clientInfo`,
  clientCapabilities: `${PREFIX}clientCapabilities`,
  serverInfo: `${PREFIX}serverInfo`,
  subscriptionId: `${PREFIX}subscriptionId`,
} as const

export const RPC = {
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  sessionNotFound: -32001,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const

/** The requests a modern server may answer with "I need something from you first". */
export const ASKING_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/** Requests that change nothing on the server, so that asking twice is the same as asking once. */
export const READING_METHODS: ReadonlySet<string> = new Set([
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

/** What a modern server says about itself, as it said it. */
export interface Discovery {
  readonly supportedVersions: readonly string[]
  readonly capabilities: ServerCapabilities
  readonly instructions?: string
  readonly serverInfo?: ServerInfo
  readonly ttlMs?: number
}

export function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Undefined when it is no discovery at all: then the server is of the older era, whatever it meant. */
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

/** A capability counts when it is an object; anything else was not declared. */
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
