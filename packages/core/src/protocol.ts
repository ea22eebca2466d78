// protocol.ts: the terms of the protocol that the server side and the client side share: versions, reserved names,
// error codes. No behaviour beyond checking a value.
export type Era = 'legacy' | 'modern'

/** Newest first: what `initialize` offers, and the response to an unknown version. */
export const LEGACY_VERSIONS = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05', '2024-10-07'] as const
export const MODERN_VERSION = '2026-07-28'

const PREFIX = 'io.modelcontextprotocol/'
export const META = {
  protocolVersion: `${PREFIX}protocolVersion`,
  clientInfo: `${PREFIX}clientInfo`,
  clientCapabilities: `${PREFIX}clientCapabilities`,
  logLevel: `${PREFIX}logLevel`,
  serverInfo: `${PREFIX}serverInfo`,
  subscriptionId: `${PREFIX}subscriptionId`,
  relatedTask: `${PREFIX}related-task`,
} as const

export const RPC = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  order: -32000,
  sessionNotFound: -32001,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const

/** SEP-2663: a call may be answered with a task. Declared only because it is served. */
export const TASKS_EXTENSION = `${PREFIX}tasks`

/** The requests whose result may be "input required" in 2026-07-28. */
export const ASKING_METHODS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])
