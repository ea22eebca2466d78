// limits.ts: every default number of the library, named, in one place. Units are in the names.

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const KIB = 1024
const MIB = 1024 * KIB

/** Configuration files and the things they point to. */
export const CONFIG_LIMITS = {
  fileBytes: 8 * MIB,
  /** A settings file nested deeper than this is refused before anything walks it. */
  depth: 64,
  entriesPerFile: 5000,
  nameLength: 128,
  diagnosticsPerFile: 100,
  lockWaitMs: 30 * SECOND,
  lockStaleMs: 30 * SECOND,
  /** Watched files settle for this long before they are read again. */
  watchSettleMs: 100,
} as const

/** `.mcpb` bundles: a zip with a manifest. */
export const BUNDLE_LIMITS = {
  archiveBytes: 512 * MIB,
  unpackedBytes: 1024 * MIB,
  files: 50_000,
  manifestBytes: 1 * MIB,
} as const

/** Server lists fetched from a URL. */
export const REMOTE_LIST_LIMITS = { timeoutMs: 5 * SECOND, bytes: 4 * MIB } as const

export const HEADERS_HELPER_LIMITS = { timeoutMs: 10 * SECOND, outputBytes: 64 * KIB } as const

/** Bringing a server up and keeping it up. */
export const CONNECT_LIMITS = {
  timeoutMs: 30 * SECOND,
  localSlots: 3,
  remoteSlots: 20,
  reconnectAttempts: 3,
  reconnectDelayMs: 5 * SECOND,
  terminalErrors: 3,
  probeMs: 2 * SECOND,
  eraMemoryMs: 24 * HOUR,
  heartbeatMs: 30 * SECOND,
  heartbeatTimeoutMs: 10 * SECOND,
  closeMs: 2 * SECOND,
} as const

export const STDIO_LIMITS = {
  lineBytes: 64 * MIB,
  interruptAfterMs: 0,
  terminateAfterMs: 100,
  killAfterMs: 400,
  stderrTailBytes: 64 * KIB,
} as const

export const LOG_LIMITS = { bytesPerServer: 1 * MIB, lineBytes: 16 * KIB, linesInError: 12 } as const

export const LIST_LIMITS = {
  cached: 100,
  pages: 1000,
  items: 50_000,
  debounceMs: 100,
} as const

export const CALL_LIMITS = {
  timeoutMs: 60 * SECOND,
  totalMs: 10 * MINUTE,
} as const

export const AUTH_LIMITS = {
  needsAuthMemoryMs: 15 * MINUTE,
  /** How often a watching board looks for logins of other processes where the file system reports none. */
  loginPollMs: 2 * SECOND,
  loginsRemembered: 500,
  /** How far a server's clock may be off when a signed token is checked. */
  clockToleranceSeconds: 15 * 60,
  /** An ID token with less left than this is renewed before it is exchanged. */
  idTokenAheadMs: 10 * SECOND,
  callbackMs: 5 * MINUTE,
  keychainProbeMs: 3 * SECOND,
  vaultEntryBytes: 1 * MIB,
  responseBytes: 1 * MIB,
  requestMs: 15 * SECOND,
  /** Same-origin redirects that a metadata request follows. */
  redirects: 3,
  /** A waiter outlives the slowest refresh of whoever holds the lock. */
  lockWaitMs: 60 * SECOND,
  lockStaleMs: 20 * SECOND,
  refreshAheadMs: 60 * SECOND,
  /** Refresh this long before expiry, less a random part of it, so that siblings do not all wake at once. */
  refreshJitterMs: 30 * SECOND,
  /** A token this young that is refused all the same is not renewed again. */
  freshMs: 10 * SECOND,
} as const

export const TOOL_LIMITS = {
  nameLength: 64,
  descriptionChars: 2048,
  resultChars: 100_000,
  /** `MAX_MCP_OUTPUT_TOKENS` */
  outputTokens: 25_000,
  imagePixels: 2000,
  imageBytes: 5 * MIB,
  searchOverTools: 50,
  searchOverContextShare: 0.1,
} as const
