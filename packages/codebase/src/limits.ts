// limits.ts: every default number of the codebase server, named, in one place. Units are in the names.

const SECOND = 1000
const MINUTE = 60 * SECOND
const KIB = 1024
const MIB = 1024 * KIB

export const SEARCH_LIMITS = {
  queryChars: 8 * KIB,
  resultsDefault: 50,
  resultsMax: 10_000,
  chunksDefault: 10,
  chunksMax: 200,
  contextLinesMax: 50,
  /** A longer line is cut in the result, and the result says so. */
  lineChars: 4 * KIB,
  /** All matched and context lines of one answer together. */
  answerChars: 2 * MIB,
  timeoutMs: 60 * SECOND,
  /** Compiled size of a regular expression; past it ripgrep refuses the pattern. */
  regexBytes: 10 * MIB,
} as const

export const FILE_LIMITS = {
  /** Larger files are neither searched nor indexed; results carry their count. */
  searchBytes: 64 * MIB,
  /** How long that count holds where no index keeps it. */
  largeCountMs: 10 * SECOND,
  readBytes: 8 * MIB,
  /** With a line range a larger file is read up to this many bytes. */
  rangeBytes: 256 * MIB,
  answerChars: 1 * MIB,
  chunkBytes: 4 * MIB,
  /** Larger files are left out of the semantic index. */
  semanticBytes: 512 * KIB,
  filesPerCall: 100,
  entries: 5000,
  /** Names in the list of all files. */
  listed: 200_000,
  depthMax: 20,
  pathChars: 4096,
} as const

export const CHUNK_LIMITS = {
  /** Chunks grow by joining neighbours up to here, and are split past `maxChars`. */
  minChars: 200,
  maxChars: 2400,
  fallbackLines: 60,
} as const

export const INDEX_LIMITS = {
  /** Below this many files a scan is as fast as an index, and none is built. */
  minFiles: 400,
  threads: 2,
  filesPerJob: 4000,
  filesPerSegment: 8000,
  postingsPerSegment: 8_000_000,
  argumentBytes: process.platform === 'win32' ? 24 * KIB : 512 * KIB,
  /** An index that can only be kept in memory may take this much of it. */
  memoryBytes: 96 * MIB,
  smallSegments: 24,
  smallSegmentFiles: 500,
  /** Changed files past this share of the index: build it anew instead of adding to it. */
  rebuildShare: 0.3,
  settleMs: 300,
  /** How soon to check again for an index that another process is building. */
  retryMs: 3 * SECOND,
  watchedFolders: 60_000,
  barrierMs: 250,
  lockStaleMs: 30 * SECOND,
  lockBeatMs: 5 * SECOND,
} as const

export const SEMANTIC_LIMITS = {
  bm25K1: 4,
  bm25B: 0.8,
  /** How often a term of a chunk's name counts, and of what encloses it. */
  nameCount: 5,
  withinCount: 3,
  modelTokens: 128,
  queryTokens: 64,
  poolSize: 100,
  /** Unindexed files that a search reads and chunks itself. */
  filesOnTheSpot: 60,
  filesPerSegment: 100,
  /** Segments of which less than half is left, or was ever there; when there are more, they are written as fewer. */
  smallSegments: 24,
  refreshMs: 5 * SECOND,
  /** Of a chunk, at most, each of `modelTokens`. */
  windowsMax: 6,
  openingWords: 20,
  /** The part of the names alone in a chunk's vector, beside 1 for all of its text. */
  nameWeight: 0.5,
  /** The weight of the vector score beside the term score. */
  vectorWeight: 2,
  /** For a search while the tree is being embedded: how long its best chunks by terms may take to get vectors, and how many may. */
  onDemandMs: 1.5 * SECOND,
  onDemandChunks: 30,
  /** Such vectors that are kept until the background work takes them over. */
  onDemandKept: 4000,
  /** This many of the best by terms tell how far vectors can be trusted: as far as these have one. */
  trustedChunks: 20,
  /** With fewer vectors than this, their distribution is not known. */
  spreadChunks: 50,
  /** Chunks a thread embeds before it checks again which are needed most. */
  embedTurn: 16,
  /** Chunks whose mean direction is half trusted: of fewer, what they have in common is not well known. */
  centreChunks: 100,
  /** The share of the best chunk's score that the others of its file get. */
  fileShare: 0.4,
  /** How many of the best are reranked, and what a matching name and a matching line are then worth, in standard deviations. */
  closerLooks: 20,
  nameFit: 3.5,
  lineFit: 2,
  endpointTimeoutMs: 30 * SECOND,
  endpointBatch: 32,
  endpointTries: 4,
  endpointPauseMs: 500,
  endpointPauseMaxMs: 10 * SECOND,
  endpointBytes: 64 * MIB,
} as const

export const HTTP_LIMITS = {
  bodyBytes: 4 * MIB,
  port: 7331,
  /** Past it, the session that was used least recently ends. */
  sessions: 1000,
  /** Messages in one body. */
  batch: 50,
  closeMs: 2 * SECOND,
  headersMs: 30 * SECOND,
  requestMs: 5 * MINUTE,
} as const

export const STDIO_LIMITS = {
  lineBytes: 16 * MIB,
  /** How long calls that are open when the input ends may take. */
  lastAnswersMs: 60 * SECOND,
} as const
