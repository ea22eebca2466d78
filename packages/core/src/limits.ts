// limits.ts: every default number of the library, named, in one place. Units are in the names.

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const KIB = 1024
const MIB = 1024 * KIB

/** Configuration files and what they point to. */
export const CONFIG_LIMITS = {
  fileBytes: 8 * MIB,
  /** Files of other products grow with their own data; only our part of them is kept. */
  foreignFileBytes: 32 * MIB,
  /** A settings file nested deeper than this is rejected before anything walks it. */
  depth: 64,
  entriesPerFile: 5000,
  nameLength: 128,
  diagnosticsPerFile: 100,
  lockWaitMs: 30 * SECOND,
  lockStaleMs: 30 * SECOND,
  /** `approve --pin`: a larger file is not pinned, because it is read whenever the configuration is. */
  pinnedFileBytes: 32 * MIB,
  /** Watched files are read again after being unchanged for this long. */
  watchSettleMs: 100,
  /** A file that keeps changing is read after this long. */
  watchSettleAtMostMs: 500,
  /** How often watched files are polled where the system reports no change. */
  watchPollMs: 1 * SECOND,
} as const

/** `.mcpb` bundles: a zip with a manifest. */
export const BUNDLE_LIMITS = {
  archiveBytes: 512 * MIB,
  unpackedBytes: 1024 * MIB,
  files: 50_000,
  manifestBytes: 1 * MIB,
} as const

/** A project's bundles are only inspected until they are approved; unpacked ones are kept up to a total. */
export const BUNDLE_CACHE_LIMITS = {
  /** Plugins that one project may name, and bytes of their archives that are read while they wait for approval. */
  pendingPlugins: 64,
  pendingBytes: 64 * MIB,
  keptBytes: 4096 * MIB,
  keptBundles: 32,
  /** One that was used within this time may belong to a running server. */
  keepMs: 24 * 60 * 60 * SECOND,
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
  /** A failed server is retried after this, then after twice as long, up to the maximum, without end. */
  retryMs: 30 * SECOND,
  retryMaxMs: 5 * MINUTE,
  /** A caller that needs a failed server has it retried at once, but not sooner than this after the last attempt. */
  probeEveryMs: 2 * SECOND,
  terminalErrors: 3,
  probeMs: 2 * SECOND,
  eraMemoryMs: 24 * HOUR,
  heartbeatMs: 30 * SECOND,
  heartbeatTimeoutMs: 10 * SECOND,
  /** A local server that let a request time out is pinged, and has this long to send anything. */
  deafMs: 3 * SECOND,
  /** With other requests open it is pinged this often before it is restarted. */
  deafChecks: 3,
  closeMs: 2 * SECOND,
  /** How long a retried request waits for its connection to notice that the transport broke. */
  noticeMs: 50,
  /** A server that is slow to come up releases its slot after this, so that it does not delay the others. */
  slotHoldMs: SECOND,
  /** How much longer than its tools a server may take to list its resources and prompts. */
  sideListsMs: 5 * SECOND,
  /** A connection that lived this long starts counting its reconnect attempts from zero. */
  stableMs: 60 * SECOND,
  eraRecords: 1000,
  eraFileBytes: 16 * MIB,
} as const

export const STDIO_LIMITS = {
  lineBytes: 64 * MIB,
  /** A server that writes this much at a time waits for the next turn of the event loop, so that others are read too. */
  turnBytes: 32 * KIB,
  interruptAfterMs: 0,
  terminateAfterMs: 100,
  killAfterMs: 400,
  /** After SIGKILL the kernel needs a moment; what is left by then only waits to be reaped. */
  reapMs: 80,
  /** A group whose leader exited gets this long to follow before it is killed. */
  orphansMs: 100,
  stderrTailBytes: 64 * KIB,
  /** Limit for what a child has not read yet. */
  /** Messages of one turn that are written together. */
  messagesPerWrite: 16,
  unsentBytes: 64 * MIB,
  /** Output that is still in the pipe when the child has exited is read for this long. */
  drainMs: 200,
  /** Between the end of a child's output and its exit; a child that keeps running is a lost connection. */
  outputEndMs: 100,
  /** How long a send that found the pipe broken waits for the exit that explains it. */
  brokenInputMs: 1000,
  /** The watchdog waits this long for the next child before it exits. */
  watchdogIdleMs: SECOND,
} as const

export const LOG_LIMITS = {
  bytesPerServer: 1 * MIB,
  lineBytes: 16 * KIB,
  linesInError: 12,
  /** Lines wait this long for more lines before they are written. */
  flushMs: 200,
  /** A server that floods faster than the disk can write loses lines past this, and the log says how many. */
  bufferedBytes: 256 * KIB,
  followMs: 300,
} as const

/** `plugboard doctor`: one look-up, handshake or request, and how much it reports about one server. */
export const DOCTOR_LIMITS = { stepMs: 10 * SECOND, findings: 200 } as const

/** Connections that several boards share. */
export const POOL_LIMITS = { idleMs: 10 * MINUTE, lists: 1000 } as const

/** What servers listed when they were last connected: one file each. `localMs` and `remoteMs`: shown without asking until then. */
export const CATALOG_LIMITS = {
  bytes: 8 * MIB,
  files: 500,
  stampedWords: 64,
  ages: { keepMs: 30 * 24 * HOUR, localMs: 24 * HOUR, remoteMs: 5 * MINUTE, renewMs: 1 * MINUTE },
} as const

export const EVENT_LIMITS = { buffered: 10_000 } as const

/** Streamable HTTP and legacy SSE. */
export const HTTP_LIMITS = {
  /** One JSON response, or one event of a stream. */
  messageBytes: 64 * MIB,
  /** The body of a response that is not a message: an error page, an OAuth document. */
  errorBytes: 1 * MIB,
  connectMs: 10 * SECOND,
  /** A message that expects no response must be acknowledged within this. */
  notifyMs: 30 * SECOND,
  /** For a server that does not say how long it keeps an idle connection; one that closes it sooner is noticed. */
  keepAliveMs: 30 * SECOND,
  keepAliveMaxMs: 10 * MINUTE,
  /** After this long without traffic we check whether the peer closed before we write. */
  idleMs: 250,
  /** The longest `Retry-After` that is waited for. */
  retryAfterMs: 10 * SECOND,
  /** The DELETE that ends a session. */
  goodbyeMs: SECOND,
  /** Redirects of one request that are followed, all within the origin. */
  redirects: 5,
  resumeAttempts: 3,
  resumeDelayMs: SECOND,
  resumeMaxDelayMs: 30 * SECOND,
  /** A server's own `retry:` counts up to here. */
  serverRetryMs: 60 * SECOND,
  /** A push stream that lived this long resets the count of losses. */
  steadyMs: 10 * SECOND,
} as const

export const WEBSOCKET_LIMITS = {
  messageBytes: 64 * MIB,
  /** A message up to here is received and dropped; past it the connection is closed before it is received. */
  frameBytes: 128 * MIB,
  unsentBytes: 64 * MIB,
  connectMs: 30 * SECOND,
  closeMs: 500,
} as const

/** An editor's lock file is a few hundred bytes; a folder of them holds a handful. */
export const IDE_LIMITS = { lockBytes: 64 * KIB, lockFiles: 200, folders: 200 } as const

export const LIST_LIMITS = {
  cached: 100,
  pages: 1000,
  items: 50_000,
  debounceMs: 100,
  /** A server that keeps announcing changes is still refreshed this often. */
  maxWaitMs: 1 * SECOND,
  warnings: 20,
} as const

export const CALL_LIMITS = {
  timeoutMs: 60 * SECOND,
  totalMs: 10 * MINUTE,
  /** How often a server may request input before it completes one call. */
  inputRounds: 10,
  inputsPerRound: 16,
  /** A request of the server that takes us longer than this pauses the timeout of its open calls. */
  thinkingMs: 250,
  /** Open requests of one server to us at a time. */
  inbound: 32,
  /** How much of a server's error message is kept. */
  errorChars: 64 * KIB,
} as const

/** Tools that run as tasks. */
export const TASK_LIMITS = {
  /** How long the server should keep the task, where the client may say so. */
  ttlMs: 60 * MINUTE,
  /** For a call that became a task, from its start to its result. */
  resultMs: 60 * MINUTE,
  pollMinMs: 100,
  /** Where the server names no interval, after the first few. */
  pollMs: 2 * SECOND,
  pollMaxMs: 60 * SECOND,
  statusMs: 10 * SECOND,
  /** Polls in a row that may fail before the task counts as lost. */
  failedPolls: 5,
  cancelMs: SECOND,
  /** How long after the server's own time limit a task is still looked for. */
  expiryGraceMs: 5 * SECOND,
  idChars: 1024,
  messageChars: 1000,
} as const

export const AUTH_LIMITS = {
  needsAuthMemoryMs: 15 * MINUTE,
  /** How often a watching board polls for logins of other processes where the file system reports none. */
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
  /** A waiter outlives the slowest refresh of the lock's holder. */
  lockWaitMs: 60 * SECOND,
  lockStaleMs: 20 * SECOND,
  refreshAheadMs: 60 * SECOND,
  /** Refresh this long before expiry, less a random part of it, so that other processes do not all refresh at once. */
  refreshJitterMs: 30 * SECOND,
  /** A token that is rejected although it is this young is not renewed again. */
  freshMs: 10 * SECOND,
} as const

export const TOOL_LIMITS = {
  nameLength: 64,
  descriptionChars: 2048,
  /** A description is cut to this before anything reads it. */
  descriptionReadChars: 64 * KIB,
  resultChars: 100_000,
  /** What a server may raise its own tool's limit to, by `_meta`. */
  resultCharsCeiling: 500_000,
  /** `MAX_MCP_OUTPUT_TOKENS` */
  outputTokens: 25_000,
  imagePixels: 2000,
  imageBytes: 5 * MIB,
  searchOverTools: 50,
  searchOverContextShare: 0.1,
  searchResults: 5,
  searchResultsMost: 20,
  searchQueryChars: 1000,
  contextTokens: 200_000,
  /** Arguments of one call. */
  argumentDepth: 128,
  argumentBytes: 16 * MIB,
  /** How often one call may send the user to a URL before it gives up. */
  urlElicitationRounds: 3,
} as const

/** One tool as its server lists it. A schema past these limits drops its own tool; other fields are cut or left out. */
export const DEFINITION_LIMITS = {
  nameChars: 512,
  /** Levels of objects and lists, data in `default` and `enum` included. */
  depth: 200,
  /** Approximate characters of one schema as JSON. */
  chars: 512 * KIB,
  /** A description, a title. */
  textChars: 64 * KIB,
} as const

/** Untrusted JSON Schemas. */
export const SCHEMA_LIMITS = {
  nodes: 20_000,
  depth: 200,
  /** Checks made for one value; past it the value passes unchecked. */
  steps: 1_000_000,
  /** Schemas within schemas (and `$ref`s) entered for one value. */
  nesting: 400,
  issues: 20,
  patternChars: 4 * KIB,
  /** Matching steps a pattern may need, by a conservative estimate, to run without a watchdog. */
  patternSteps: 2_000_000,
  patternMs: 100,
} as const

/** Results of calls. */
export const RESULT_LIMITS = {
  blocks: 1000,
  /** Text saved to disk when it was too long for the model. */
  savedTextBytes: 512 * MIB,
  binaryBytes: 256 * MIB,
  /** Pixels of an image before it is decoded at all: a bomb is small on the wire and huge in memory. */
  decodedPixels: 64_000_000,
  imageMs: 10 * SECOND,
  linkChars: 2048,
  /** Saved parts of results are removed after this. */
  keepMs: 7 * 24 * HOUR,
} as const

export const AUDIT_LIMITS = {
  fileBytes: 4 * MIB,
  files: 8,
  lineBytes: 16 * KIB,
  /** Lines, and bytes of them, that may wait to be written; a call that finds more waits too. */
  queued: 20_000,
  queuedBytes: 8 * MIB,
  /** The first size of the buffer they wait in. */
  bufferBytes: 64 * KIB,
  /** Lines are gathered for this long, or until there are so many. */
  gatherMs: 200,
  gathered: 8000,
  /** The latest events, of which no lines are made yet; and characters of lines that are not bytes yet. */
  latest: 64,
  textChars: 16 * KIB,
  /** What is hashed, and what is numbered anew, without yielding to other work. */
  hashedBytes: 512 * KIB,
  renumberedBytes: 64 * KIB,
  argumentChars: 200,
  lockWaitMs: 10 * SECOND,
  lockStaleMs: 10 * SECOND,
} as const

export const HOOK_LIMITS = {
  timeoutMs: 60 * SECOND,
  outputBytes: 1 * MIB,
  matcherChars: 512,
  perEvent: 100,
} as const

/** Skills over MCP: the first two are what every host has to accept. */
export const SKILL_LIMITS = {
  files: 512,
  /** All files of one skill together. */
  bytes: 16 * MIB,
  nameChars: 64,
  descriptionChars: 1024,
  uriChars: 4096,
  /** The front matter of a SKILL.md. */
  frontmatterChars: 64 * KIB,
  frontmatterDepth: 32,
} as const

/** What a served board accepts from its clients. */
export const GATEWAY_LIMITS = {
  /** One POST, or one line on stdin. */
  bodyBytes: 10 * MIB,
  /** How much of a body that is too long is read and discarded, so that its sender gets the response. */
  discardedBytes: 64 * MIB,
  /** How deeply a client's message may be nested: more than any real message, less than what breaks a parser. */
  nesting: 1000,
  /** Up to this length one that is nested deeper is still parsed, to find its id. */
  deepChars: 256 * KIB,
  headersMs: 10 * SECOND,
  /** From the first byte of a request to its last. */
  receiveMs: 30 * SECOND,
  /** How long a connection may be idle: longer than clients keep theirs, or one closes while the other sends. */
  idleConnectionMs: MINUTE,
  /** How long a list waits for servers that are still coming up. */
  listWaitMs: 3 * SECOND,
  /** How long the start waits for them where names can collide (`--names=plain`, `server.tool`). */
  namesWaitMs: 20 * SECOND,
  /** How long a call of an unknown name waits for them. */
  callWaitMs: 15 * SECOND,
  /** A call without output for this long gets a stream, kept alive at the same pace. */
  keepAliveMs: 10 * SECOND,
  /** A request to a client of 2026-07-28 is abandoned after this. */
  clientQuestionMs: 10 * MINUTE,
  turnMs: 10 * SECOND,
  holdMs: 30 * SECOND,
  clientQuestions: 4000,
  clientQuestionsPerOwner: 250,
  /** How long a client's task is kept, from its creation. */
  taskMs: 60 * MINUTE,
  tasks: 2000,
  tasksPerOwner: 200,
  /** What the results of tasks may take together before the oldest are dropped. */
  taskChars: 64 * MIB,
  /** How long a call continues whose client lost the stream and may come back for it. */
  resumeMs: 5 * SECOND,
  /** What a session keeps of its streams for a client that comes back. */
  replayEvents: 256,
  replayChars: MIB,
  sessions: 10_000,
  sessionsPerOwner: 1000,
  /** Event streams of sessions (GET). */
  streams: 10_000,
  streamsPerOwner: 1000,
  /** A session that is idle for this long is dropped; its id still reopens it. */
  sessionIdleMs: 30 * MINUTE,
  /** A session id older than this opens nothing. */
  sessionMaxMs: 30 * 24 * HOUR,
  /** Ended sessions and used responses that are remembered. */
  spentIds: 100_000,
  /** A key seals for this long, and opens for as long as something that it sealed can be valid. */
  keyRotationMs: 30 * 24 * HOUR,
  /** How much of a server's own requestState is sealed and sent; a longer one is kept in memory only. */
  stateChars: 256 * KIB,
  tokenFilePollMs: 300,
  listens: 10_000,
  listensPerOwner: 250,
  subscriptionsPerClient: 1000,
  /** Requests of one session that may be open at a time. */
  openPerClient: 1000,
  /** What a slow reader may leave unread before it is disconnected. */
  unreadBytes: 64 * MIB,
  /** How long a response may stay unread without a byte moving. */
  unreadMs: 60 * SECOND,
  /** How long running calls may continue after shutdown began. */
  drainMs: 10 * SECOND,
  /** How long they may go on after the client has closed its end of the pipe. */
  goodbyeMs: 2 * SECOND,
} as const

/** Limits on a server's requests to the user and to the model. */
export const INTERACTION_LIMITS = {
  formFields: 50,
  formOptions: 500,
  textChars: 4000,
  /** An elicitation with a longer message is declined: a user could not read all of it. */
  messageChars: 20_000,
  answerChars: 64 * KIB,
  answerTries: 3,
  urlChars: 4096,
  /** How long a call waits for the completion of a URL elicitation, before it is retried anyway. */
  urlDoneMs: 10 * SECOND,
  urlsRemembered: 1000,
  samplingTokens: 4096,
  samplingInputChars: 400_000,
  samplingPerMinute: 10,
  samplingSessionTokens: 100_000,
  samplingConcurrent: 2,
} as const
