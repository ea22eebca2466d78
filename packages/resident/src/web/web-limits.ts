// web-limits.ts: every number of the page of the board.

export const WEB_LIMITS = {
  /** How long the address that `plugboard ui` prints can be used. */
  tokenMs: 5 * 60_000,
  tokenBytes: 1024,
  cookieSeconds: 30 * 24 * 3600,
  /** A page that lost its connection finds its calls again for this long. */
  resumeMs: 60_000,
  heartbeatMs: 20 * 1000,
  messageBytes: 64 * 1024 * 1024,
  /** What a page has not confirmed is kept; past this the writers wait. */
  unseenChars: 8 * 1024 * 1024,
  /** How often and at what distance a taken port is tried again. */
  portTries: 40,
  portMs: 250,
  /** Servers are started this long after the page opened. */
  startMs: 150,
  pages: 64,
  /** Folders that a page may come back to after the process was killed. */
  boards: 20,
  /** Documents of MCP Apps, and the origins that one may name. */
  apps: 32,
  appDomains: 20,
  appBytes: 8 * 1024 * 1024,
} as const
