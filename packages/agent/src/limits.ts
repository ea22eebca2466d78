// limits.ts: the numbers of the agent, named, in one place. Units are in the names.

const SECOND = 1000
const MIB = 1024 * 1024

/** The numbers of the loop. */
export const AGENT_LIMITS = {
  /** Requests to the model for one message of the user. */
  turns: 50,
  callsPerTurn: 100,
  parallelCalls: 8,
  /** How long the first request waits for servers in this process; the others join at a later turn. */
  graceMs: 40,
  /** Between the first request and the start of the servers. */
  wakeAfterMs: 30,
  /** How long a search for tools waits for servers that are still starting. */
  searchWaitMs: 30 * SECOND,
  /** How long a request waits for servers to list their skills. */
  skillsMs: 300,
  /** Skills that the model is told about, and how much of each. */
  skills: 100,
  skillLineChars: 300,
  /** Of one file of a skill. */
  skillChars: 100_000,
  /** Tools found by search stay in the requests; beyond this the oldest go. */
  foundTools: 32,
  /** When a conversation fills this share of the context, its older part becomes a summary. */
  compactShare: 0.8,
  /** This share of the context, at the end, is kept verbatim. */
  keepShare: 0.25,
  summaryTokens: 4096,
  /** Of one message, when it is given to the model to be summarised. */
  summaryPartChars: 4000,
  answerTokens: 8192,
  subAgentTurns: 25,
  /** Events that wait for a slow reader before the loop waits for it. */
  bufferedEvents: 256,
} as const

/** The numbers of requests to models. */
export const MODEL_LIMITS = {
  attempts: 5,
  retryMs: 1 * SECOND,
  retryMostMs: 30 * SECOND,
  /** A `Retry-After` longer than this is of no use to a user who waits. */
  retryAfterMostMs: 120 * SECOND,
  /** Until the first byte of a response. */
  answerMs: 600 * SECOND,
  /** Between two pieces of a response. */
  silenceMs: 120 * SECOND,
  streamBytes: 64 * MIB,
  eventBytes: 16 * MIB,
  errorBytes: 64 * 1024,
  messageChars: 500,
} as const
