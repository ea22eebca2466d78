// text/search.ts: finds lines of text. ripgrep decides every result; an index, where there is one, only names
// the files worth reading. It does not know how the index is stored or kept up to date.
import { lstat, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CodebaseError } from '../errors.ts'
import { FILE_LIMITS, INDEX_LIMITS, SEARCH_LIMITS } from '../limits.ts'
import { listFiles, runRipgrep } from '../ripgrep.ts'
import { isInside, type PathInRoot, quote, type Root } from '../root.ts'
import { searchLiteral } from './literal.ts'
import { MatchCollector, type TextMatch } from './matches.ts'

const FIRST_BATCH = 500
/** Naming a file costs ripgrep more than finding it in a walk: past this share of the tree a walk is faster. */
const WALK_SHARE = 0.6

export interface TextQuery {
  readonly query: string
  readonly regex: boolean
  readonly caseSensitive: boolean
  readonly glob: readonly string[]
  readonly path: string | undefined
  readonly contextLines: number
  readonly maxResults: number
}

export interface TextAnswer {
  readonly matches: readonly TextMatch[]
  readonly truncated: boolean
  readonly timedOut: boolean
  readonly source: 'index' | 'scan'
  /** Files that were opened; absent when the whole tree was walked. */
  readonly filesRead?: number
  /** Notes for the reader of the result. */
  readonly notes: readonly string[]
}

/** What an index says about a query: every file that could match is in one of the lists. */
export interface Candidates {
  readonly files: readonly string[]
  /** Files that ripgrep treats differently when they are named: they are not named. */
  readonly byWalk: readonly string[]
  /** How many files a scan would read in their place. */
  readonly of: number
}

export interface CandidateSource {
  /** False when it is known that no file is too large, which saves a check of each. */
  readonly mayHaveLargeFiles: boolean
  /** Undefined when a scan is the better or the only way. */
  candidates(query: TextQuery): Promise<Candidates | undefined>
}

export function checkQuery(query: string): void {
  if (query === '') throw new CodebaseError('BAD_INPUT', 'The query is empty.', 'Give the text to look for.')
  if (query.length > SEARCH_LIMITS.queryChars)
    throw new CodebaseError(
      'BAD_INPUT',
      `The query has ${query.length} characters; at most ${SEARCH_LIMITS.queryChars} are searched.`,
      'Search for a distinctive part of it.',
    )
}

/** Where to search, and by what means. */
export interface SearchContext {
  readonly binary: string
  readonly root: Root
  readonly index?: CandidateSource | undefined
  /** False for files that no result may show; all are shown when it is left out. */
  readonly shows?: ((path: string) => boolean) | undefined
  readonly signal?: AbortSignal | undefined
}

export async function searchText(context: SearchContext, query: TextQuery): Promise<TextAnswer> {
  const answer = await searchUnconfined(context, query)
  return { ...answer, matches: await inside(await context.root.real(), answer.matches) }
}

/**
 * ripgrep follows the links on the way to a named file, and a folder may have become a link since. So nothing
 * is returned before its name was checked, once more, to lead to a place inside the root.
 */
async function inside(root: string, matches: readonly TextMatch[]): Promise<TextMatch[]> {
  const verdicts = new Map<string, boolean>()
  for (const { file_path } of matches)
    if (!verdicts.has(file_path))
      verdicts.set(file_path, isInside(root, await nearest(join(root, file_path))))
  return matches.filter(({ file_path }) => verdicts.get(file_path))
}

/** Where a path leads; of one that is gone, or whose name is not UTF-8 and cannot be asked about, where its folder does. */
async function nearest(path: string): Promise<string> {
  for (let at = path; ; at = dirname(at)) {
    const real = await realpath(at).catch(() => undefined)
    if (real !== undefined || at === dirname(at)) return real ?? at
  }
}

async function searchUnconfined(context: SearchContext, query: TextQuery): Promise<TextAnswer> {
  const { binary, root, index, shows, signal } = context
  checkQuery(query.query)
  if (query.query.includes('\0'))
    throw new CodebaseError('BAD_INPUT', 'The query must not contain a NUL byte.')
  if (!query.regex && /[\n\r]/.test(query.query))
    throw new CodebaseError(
      'BAD_INPUT',
      'The query spans lines; search looks at one line at a time.',
      'Search for one of the lines.',
    )
  const cwd = await root.real()
  const place = query.path === undefined ? undefined : await searchable(root, query.path)
  const placed = place ? { ...query, path: place.relative } : query
  const named = await index?.candidates(placed)
  const answer = named && (await searchFiles(binary, cwd, placed, shownOf(named, shows), signal))
  if (answer) return answer
  const seen = await seenFiles(context, cwd, placed)
  const accepts = (path: string) => (shows?.(path) ?? true) && (seen?.has(path) ?? true)
  // One more than asked for tells whether there is more.
  const found = new MatchCollector(query.maxResults + 1, query.contextLines, accepts)
  const end = await runRipgrep(
    binary,
    [
      ...patternArgs(placed),
      ...(index?.mayHaveLargeFiles === false ? [] : [`--max-filesize=${FILE_LIMITS.searchBytes}`]),
      ...placed.glob.map((glob) => `--glob=${glob}`),
      '--',
      `./${placed.path ?? ''}`,
    ],
    { cwd, signal },
    found.reader(),
  )
  signal?.throwIfAborted()
  return {
    matches: inOrder(found.matches).slice(0, query.maxResults),
    truncated: found.full,
    timedOut: end === 'timeout',
    source: 'scan',
    notes: [],
  }
}

const shownOf = (named: Candidates, shows: SearchContext['shows']): Candidates =>
  shows ? { ...named, files: named.files.filter(shows), byWalk: named.byWalk.filter(shows) } : named

/**
 * ripgrep lets a glob bring back what the ignore rules left out; here a glob only ever narrows. So where there is one, the files
 * that the rules leave are listed first. Undefined: all count.
 */
async function seenFiles(
  { binary, signal }: SearchContext,
  cwd: string,
  { glob, path }: TextQuery,
): Promise<ReadonlySet<string> | undefined> {
  if (glob.every((one) => one.startsWith('!'))) return undefined
  const seen = new Set<string>()
  await listFiles(binary, { cwd, signal, folders: [path ?? ''] }, (name) => seen.add(name))
  return seen
}

/** ripgrep reads whatever it is named: a pipe without a writer, a device without end, a file of any size. */
async function searchable(root: Root, path: string): Promise<PathInRoot> {
  const place = await root.find(path)
  const found = await lstat(place.absolute)
  if (found.isDirectory()) return place
  if (!found.isFile())
    throw new CodebaseError(
      'NOT_A_FILE',
      `${quote(path)} is neither a file nor a folder.`,
      'Search a folder.',
    )
  if (found.size > FILE_LIMITS.searchBytes)
    throw new CodebaseError(
      'TOO_LARGE',
      `${quote(path)} is over ${FILE_LIMITS.searchBytes / 1024 / 1024} MiB, and such files are not searched.`,
      'Read a range of its lines with read_file.',
    )
  return place
}

function patternArgs(query: TextQuery): string[] {
  return [
    '--json',
    query.regex ? '--no-fixed-strings' : '--fixed-strings',
    query.caseSensitive ? '--case-sensitive' : '--ignore-case',
    `--regex-size-limit=${SEARCH_LIMITS.regexBytes}`,
    `--dfa-size-limit=${SEARCH_LIMITS.regexBytes}`,
    ...(query.contextLines > 0 ? [`--context=${query.contextLines}`] : []),
    `--regexp=${query.query}`,
  ]
}

/**
 * Reads only the named files, in order and in bounded batches. Undefined when they are most of the tree and the first of them
 * held too little for an answer: then a scan is quicker.
 */
async function searchFiles(
  binary: string,
  cwd: string,
  query: TextQuery,
  named: Candidates,
  signal: AbortSignal | undefined,
): Promise<TextAnswer | undefined> {
  const plain = searchPlain(cwd, query, named)
  if (plain) return plain
  const batches = inBatches(named.files)
  // A pattern is checked even when no file can match it: a faulty one must not pass for "nothing found".
  if (batches.length === 0 && query.regex) batches.push([])
  const found: TextMatch[] = []
  let truncated = false
  let timedOut = false
  const search = async (files: readonly string[]) => {
    const part = new MatchCollector(query.maxResults + 1 - found.length, query.contextLines)
    const args = [...patternArgs(query), '--threads=2', '--', ...files.map((file) => `./${file}`)]
    const stdin = files.length === 0 ? new Uint8Array() : undefined
    const end = await runRipgrep(binary, stdin ? [...args, '-'] : args, { cwd, signal, stdin }, part.reader())
    return { part, end }
  }
  const isMost = named.files.length > named.of * WALK_SHARE
  for (const [n, batch] of batches.entries()) {
    if (n > 1 && isMost && batches.length > n + 1) return undefined
    const { part, end } = await search(batch)
    signal?.throwIfAborted()
    found.push(...inOrder(part.matches))
    timedOut ||= end === 'timeout'
    truncated ||= part.full
    if (truncated || timedOut) break
  }
  for (const file of named.byWalk) {
    if (truncated || timedOut) break
    const part = new MatchCollector(query.maxResults + 1 - found.length, query.contextLines)
    const folder = file.slice(0, file.lastIndexOf('/') + 1)
    const only = ['--max-depth=1', `--glob=/${file.replaceAll(/[\\*?[\]{}!]/g, '\\$&')}`]
    await runRipgrep(
      binary,
      [...patternArgs(query), ...only, '--', `./${folder}`],
      { cwd, signal },
      part.reader(),
    )
    found.push(...part.matches)
    truncated ||= part.full
  }
  const filesRead = named.files.length + named.byWalk.length
  return {
    matches: inOrder(found).slice(0, query.maxResults),
    truncated,
    timedOut,
    source: 'index',
    filesRead,
    notes: [],
  }
}

/** A literal text in named files needs no process. Undefined where ripgrep has to judge. */
function searchPlain(cwd: string, query: TextQuery, named: Candidates): TextAnswer | undefined {
  if (query.regex || !query.caseSensitive || named.byWalk.length > 0) return undefined
  const found = searchLiteral(
    { root: cwd, text: query.query, max: query.maxResults + 1, context: query.contextLines },
    named.files,
  )
  return (
    found && {
      matches: inOrder(found).slice(0, query.maxResults),
      truncated: found.length > query.maxResults || tooLong(found),
      timedOut: false,
      source: 'index',
      filesRead: named.files.length,
      notes: [],
    }
  )
}

/** The first batch is small, so that a common text is found at once; later ones are as large as a command line. */
function inBatches(files: readonly string[]): string[][] {
  const batches: string[][] = []
  let bytes = 0
  let most = FIRST_BATCH
  for (const file of files) {
    const cost = Buffer.byteLength(file) + 11
    const batch = batches.at(-1)
    if (batch && batch.length < most && bytes + cost <= INDEX_LIMITS.argumentBytes) {
      batch.push(file)
      bytes += cost
      continue
    }
    if (batch) most *= 8
    batches.push([file])
    bytes = cost
  }
  return batches
}

function tooLong(matches: readonly TextMatch[]): boolean {
  return (
    matches.reduce((sum, { text, file_path }) => sum + text.length + file_path.length, 0) >=
    SEARCH_LIMITS.answerChars
  )
}

function inOrder(matches: readonly TextMatch[]): TextMatch[] {
  return [...matches].sort((a, b) =>
    a.file_path === b.file_path ? a.line - b.line : a.file_path < b.file_path ? -1 : 1,
  )
}
