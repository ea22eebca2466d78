// limits.ts: every default number of the resident process.

const SECOND = 1000
const MINUTE = 60 * SECOND
const MIB = 1024 * 1024

/** The resident process and its clients. */
export const RESIDENT_LIMITS = {
  /** Without a client for this long, it leaves. */
  idleMs: 10 * MINUTE,
  /** How long a command waits for a process that starts. */
  startMs: 10 * SECOND,
  /** How often it looks whether the process listens; a look is two calls of the system. */
  dialAgainMs: 2,
  /** How long a running process may take to answer the first message. */
  helloMs: 3 * SECOND,
  /** A verb that runs for a command longer than this is announced, so that the command goes on waiting. */
  runningMs: SECOND,
  /** A command that was sent longer ago is not begun: its sender waits `helloMs` and then runs its verb itself. */
  lateMs: SECOND,
  /** How long it may take to open a board: files are read, no server is started. */
  openMs: 30 * SECOND,
  /** How long running calls may go on after it was told to leave. */
  drainMs: 5 * SECOND,
  /** How often it looks whether its socket is still there. */
  socketCheckMs: 5 * SECOND,
  /** Configurations that are kept for the next command of a terminal. */
  configurations: 16,
  /** A file that changed so short before it was read may change again without a trace. */
  settledMs: 100,
  clients: 512,
  openRequests: 128,
  messageBytes: 256 * MIB,
  /** A client that leaves this much unread is disconnected. */
  unreadBytes: 256 * MIB,
  /** Events and progress are dropped while this much is unread. */
  unreadEventBytes: MIB,
  logBytes: MIB,
} as const
