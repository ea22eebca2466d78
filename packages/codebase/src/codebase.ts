// codebase.ts: one folder that can be searched: the root, its text index, its chunks and its semantic index, behind plain
// methods. It speaks no protocol; mcp.ts does.
import { chunkText } from './chunks/chunk.ts'
import { languageNames } from './chunks/languages.ts'
import { Parsers } from './chunks/parsers.ts'
import { CodebaseError } from './errors.ts'
import {
  decodeText,
  type FileText,
  type FolderListing,
  type LineRange,
  type ListOptions,
  listFolder,
  readBytes,
  readText,
} from './files.ts'
import { CpuTurns } from './index/cpu-turns.ts'
import { defaultCacheDir, FolderStore } from './index/folder-store.ts'
import { MemoryStore } from './index/memory-store.ts'
import type { IndexStore } from './index/storage.ts'
import { type IndexPhase, TextIndex } from './index/text-index.ts'
import { FILE_LIMITS, INDEX_LIMITS } from './limits.ts'
import { namedPaths, Protection, refused } from './protected-files.ts'
import { isShown } from './protected-names.ts'
import { ripgrepNames, ripgrepPath } from './ripgrep.ts'
import { quote, Root } from './root.ts'
import { identify, type ModelIdentity } from './semantic/embedders.ts'
import { SemanticIndex } from './semantic/semantic-index.ts'
import type { Coverage, SemanticQuery } from './semantic/semantic-query.ts'
import { type Readable, rankUnindexed } from './semantic/unindexed.ts'
import { LargeFiles } from './text/large-files.ts'
import { checkQuery, searchText, type TextAnswer, type TextQuery } from './text/search.ts'
import type { CodebaseOptions, CodebaseStatus, FileChunks, IndexProgress, SemanticAnswer } from './types.ts'

const NO_COVERAGE: Coverage = { files: 0, files_indexed: 0, chunks: 0, chunks_with_vectors: 0 }

export class Codebase {
  readonly root: Root
  readonly #options: CodebaseOptions
  readonly #parsers = new Parsers()
  #ripgrep: Promise<string> | undefined
  #index: Promise<TextIndex | undefined> | undefined
  #meanings: Promise<SemanticIndex | undefined> | undefined
  #store: Promise<FolderStore> | undefined
  #modelProblem: string | undefined
  readonly #large: LargeFiles
  readonly #protection: Protection
  #inMemory: MemoryStore | undefined
  readonly #turns = new CpuTurns()
  readonly #watchers = new Set<(progress: IndexProgress) => void>()

  constructor(options: CodebaseOptions) {
    this.#options = options
    this.root = new Root(options.root)
    this.#protection = new Protection({
      root: this.root,
      ripgrep: () => this.ripgrep(),
      folders: options.protectedFolders ?? [],
    })
    this.#large = new LargeFiles(this.root.path, (most) => this.files(undefined, most))
  }

  /** Starts indexing in the background; searches scan meanwhile. */
  warmUp(): void {
    void this.#live()
    void this.#meaning().then((meaning) => meaning?.refresh())
  }

  async searchCode(query: TextQuery, signal?: AbortSignal): Promise<TextAnswer> {
    const isProtected = query.path !== undefined && (await this.#admit(query.path))
    const [ripgrep, live] = await Promise.all([this.ripgrep(), this.#live()])
    const shows = isProtected ? undefined : isShown
    const [answer, large] = await Promise.all([
      searchText({ binary: ripgrep, root: this.root, index: live, shows, signal }, query),
      live?.phase.kind === 'ready' ? live.largeFiles : this.#large.count(),
    ])
    const notes: string[] = []
    const { unavailable } = await this.#openStore()
    if (live && unavailable !== undefined)
      notes.push(
        live.phase.kind === 'failed'
          ? `No index: ${unavailable}. ${live.phase.reason}`
          : `The index is kept in memory only: ${unavailable}.`,
      )
    if (large > 0)
      notes.push(`${large} files over ${FILE_LIMITS.searchBytes / 1024 / 1024} MiB were not searched.`)
    return { ...answer, notes }
  }

  async list(path: string, options: ListOptions): Promise<FolderListing> {
    await this.#admit(path)
    return listFolder(await this.ripgrep(), this.root, path, options)
  }

  async read(path: string, range: LineRange): Promise<FileText> {
    await this.#admit(path)
    return readText(this.root, path, range)
  }

  /** For files that the calling program cannot ask the user about. */
  async readUngated(path: string): Promise<FileText> {
    await this.#admit(path, 'ungated')
    return readText(this.root, path, {})
  }

  /** Why the user should be asked before this call; undefined when there is no reason. */
  async reasonToAsk(tool: string, args: Readonly<Record<string, unknown>>): Promise<string | undefined> {
    for (const path of namedPaths(tool, args).slice(0, FILE_LIMITS.filesPerCall)) {
      const reason = await this.#reason(path)
      if (reason !== undefined) return reason
    }
    return undefined
  }

  /** True when the path is protected and may still be read; throws when it may not. */
  async #admit(path: string, by: 'gated' | 'ungated' = 'gated'): Promise<boolean> {
    const { protectedFiles = 'refuse' } = this.#options
    const reason = await this.#reason(path)
    if (reason === undefined) return false
    if (protectedFiles === 'allow' || protectedFiles === by) return true
    throw refused(reason)
  }

  /** A path that leads nowhere is reported by the read itself. */
  #reason(path: string): Promise<string | undefined> {
    return this.#protection.reason(path).catch((error: unknown) => {
      const isNowhere =
        error instanceof CodebaseError &&
        ['OUTSIDE_ROOT', 'NOT_FOUND', 'BAD_INPUT', 'ROOT_GONE'].includes(error.code)
      if (isNowhere) return undefined
      throw error
    })
  }

  async chunkFile(path: string): Promise<FileChunks> {
    await this.#admit(path)
    return this.#chunksOf(path)
  }

  async #chunksOf(path: string): Promise<FileChunks> {
    const { place, bytes } = await readBytes(this.root, path, FILE_LIMITS.chunkBytes)
    const { text } = decodeText(bytes, path)
    const chunks = await chunkText(place, text, this.#parsers)
    return {
      file_path: place,
      language: chunks[0]?.language ?? 'text',
      chunks: chunks.map((chunk) => ({
        start_line: chunk.startLine,
        end_line: chunk.endLine,
        kind: chunk.kind,
        ...(chunk.name !== undefined && { name: chunk.name }),
        ...(chunk.within.length > 0 && { within: chunk.within }),
        language: chunk.language,
        text: chunk.text,
      })),
    }
  }

  async status(): Promise<CodebaseStatus> {
    const live = await this.#live(false)
    const meaning = await this.#meaning()
    const store = await this.#openStore()
    const kept = this.#keptIn(store)
    const phase =
      live?.phase ??
      (kept.text() ? { kind: 'ready' as const } : { kind: 'off' as const, reason: 'not built yet' })
    const text = kept.text()
    const problem = this.#modelProblem ?? meaning?.failure
    return {
      root: this.root.path,
      text: {
        state: phase.kind,
        ...('reason' in phase && { reason: phase.reason }),
        ...('of' in phase && { done: phase.done, of: phase.of }),
        files: text?.fileCount ?? 0,
        textBytes: text?.textBytes ?? 0,
        indexBytes: text?.indexBytes ?? 0,
        tooLarge: live?.largeFiles ?? 0,
      },
      meaning: {
        ...(meaning?.coverage() ?? NO_COVERAGE),
        model: meaning?.model ?? null,
        working: meaning?.isWorking ?? false,
        ...(problem !== undefined && { problem }),
      },
      cache: { folder: kept.place, bytes: kept.bytes() },
    }
  }

  /** Builds everything anew. An abort rejects with its reason, and leaves the text index as it was. */
  async reindex(
    signal?: AbortSignal,
    onProgress: (progress: IndexProgress) => void = () => undefined,
  ): Promise<CodebaseStatus> {
    signal?.throwIfAborted()
    if (!this.#keptIn(await this.#openStore()).tryLock())
      throw new CodebaseError(
        'IO',
        `Another process keeps the index of ${this.root.path}, and takes changes in as they come.`,
        'Stop it to build the index anew; an MCP client may have started it.',
      )
    // A store that is only opened now is built once, not brought up to date first.
    const [live, meaning] = await Promise.all([this.#live(true, false), this.#meaning()])
    const unwatch = this.watchProgress(onProgress)
    // Threads do not keep a process alive; the caller awaits this, and is told of a failure in the semantic half too.
    const tellMeaning = () => {
      if (!meaning) return
      const { chunks, chunks_with_vectors } = meaning.coverage()
      const done = meaning.model === undefined ? chunks : chunks_with_vectors
      for (const tell of this.#watchers) tell({ part: 'meaning', done, of: chunks })
    }
    const beat = setInterval(() => meaning?.isWorking && tellMeaning(), 1000)
    try {
      await live?.rebuild(signal)
      signal?.throwIfAborted()
      await meaning?.rebuild(signal)
      signal?.throwIfAborted()
      // A small tree is finished between two ticks; its end is reported all the same.
      tellMeaning()
      return await this.status()
    } finally {
      clearInterval(beat)
      unwatch()
    }
  }

  /** Why the chosen model cannot be used, if so. A model that is not part of the install is asked for a vector to find out. */
  async modelProblem(): Promise<string | undefined> {
    const meaning = await this.#meaning()
    return this.#modelProblem ?? (await meaning?.problemOfModel())
  }

  /** Why there is no index, when building it failed. */
  async indexProblem(): Promise<string | undefined> {
    const phase = (await this.#index)?.phase
    return phase?.kind === 'failed' ? phase.reason : undefined
  }

  /** Calls `tell` while the index is being built, at once if it is, until the returned function is called. */
  watchProgress(tell: (progress: IndexProgress) => void): () => void {
    this.#watchers.add(tell)
    void this.#index?.then((live) => {
      if (live && this.#watchers.has(tell)) this.#tell(live.phase, [tell])
    })
    return () => this.#watchers.delete(tell)
  }

  #tell(phase: IndexPhase, watchers: Iterable<(progress: IndexProgress) => void>): void {
    if (phase.kind !== 'building') return
    for (const tell of watchers) tell({ part: 'text', done: phase.done, of: phase.of })
  }

  async drop(): Promise<void> {
    const [live, meaning] = await Promise.all([this.#index, this.#meanings])
    await meaning?.close()
    await live?.close()
    this.#index = undefined
    this.#meanings = undefined
    const store = await this.#openStore()
    store.drop()
    this.#inMemory?.drop()
    this.#inMemory = undefined
    this.#store = undefined
  }

  /** What search sees, in order. */
  async fileList(): Promise<string[]> {
    return (await this.files()).sort()
  }

  /** Every file that search shows, up to a bound: what the ignore rules leave, without hidden files and credentials. */
  async files(signal?: AbortSignal, most: number = FILE_LIMITS.listed): Promise<string[]> {
    const names: string[] = []
    const cwd = await this.root.real()
    await ripgrepNames(
      await this.ripgrep(),
      ['--files', '--', './'],
      { cwd, signal },
      (name) => {
        if (isShown(name)) names.push(name)
      },
      () => names.length < most,
    )
    return names
  }

  async semanticSearch(query: SemanticQuery, signal?: AbortSignal): Promise<SemanticAnswer> {
    checkQuery(query.query)
    await this.root.real()
    if (query.path !== undefined) await this.#admit(query.path)
    const path = query.path === undefined ? undefined : (await this.root.find(query.path)).relative
    const placed = { ...query, path }
    const meaning = await this.#meaning()
    meaning?.refreshSoon()
    const coverage = meaning?.coverage()
    const notes: string[] = []
    const known = languageNames()
    if (query.language !== undefined && !known.includes(query.language.toLowerCase()))
      notes.push(`No language goes by the name ${quote(query.language)} here; there are ${known.join(', ')}.`)
    if (!meaning || !coverage || coverage.files_indexed === 0) {
      const hits = await rankUnindexed(this.#readable, placed, signal)
      notes.push('Nothing is indexed yet: these are the best of the files that contain the words.')
      if (this.#modelProblem !== undefined) notes.push(this.#withoutModel())
      return { results: hits, mode: 'text', model: null, coverage: coverage ?? NO_COVERAGE, notes }
    }
    const { hits, mode, embedded, problem } = await meaning.search(placed)
    if (problem !== undefined) notes.push(`The model could not be asked (${problem}): ranked by words alone.`)
    signal?.throwIfAborted()
    if (coverage.files_indexed < coverage.files)
      notes.push(`${coverage.files_indexed} of ${coverage.files} files are indexed so far.`)
    if (meaning.model === undefined) notes.push(this.#withoutModel())
    else if (coverage.chunks_with_vectors < coverage.chunks)
      notes.push(
        [
          `${coverage.chunks_with_vectors} of ${coverage.chunks} chunks have vectors so far`,
          ...(embedded > 0 ? [`${embedded} of the best by words got theirs for this question`] : []),
          'the others are ranked by words alone.',
        ].join('; '),
      )
    if (meaning.failure !== undefined) notes.push(`Indexing stopped: ${meaning.failure}`)
    const { unavailable } = await this.#openStore()
    if (unavailable !== undefined) notes.push(`The index is kept in memory only: ${unavailable}.`)
    return { results: hits, mode, model: meaning.model ?? null, coverage, notes }
  }

  /** Search chooses these files itself, among those it may show. */
  readonly #readable: Readable = {
    real: () => this.root.real(),
    ripgrep: () => this.ripgrep(),
    chunkFile: (path) => this.#chunksOf(path),
  }

  #withoutModel(): string {
    if (this.#modelProblem !== undefined)
      return `The model cannot be used: ${this.#modelProblem} Ranked by words alone.`
    const isChosen = this.#options.embeddings?.kind === 'none'
    return `${isChosen ? 'No model is wanted' : 'No model is installed'}: ranked by words alone.`
  }

  async close(): Promise<void> {
    const live = await this.#index
    const meaning = await this.#meanings
    await meaning?.close()
    await live?.close()
    // A root that is gone has no store to close.
    await this.#store?.then((store) => store.close()).catch(() => undefined)
  }

  #openStore(): Promise<FolderStore> {
    this.#store ??= this.root.real().then(
      (real) => new FolderStore(this.#options.cacheDir ?? defaultCacheDir(), real),
      (error: unknown) => {
        // The root is gone for now; the next call checks again.
        this.#store = undefined
        throw error
      },
    )
    return this.#store
  }

  /** Where nothing can be written, the index lives in memory. */
  #keptIn(folder: FolderStore): IndexStore {
    if (folder.unavailable === undefined) return folder
    this.#inMemory ??= new MemoryStore()
    return this.#inMemory
  }

  /** The text index, started on first use. Undefined when the caller wants none, or the root is gone for now. */
  #live(start = true, bringUp = true): Promise<TextIndex | undefined> {
    if (!this.#index && start && this.#options.index !== false) {
      this.#index = this.#openIndex(bringUp).catch(() => {
        // The root is gone or ripgrep is missing: the search itself reports it; the next one tries again.
        this.#index = undefined
        return undefined
      })
    }
    return this.#index ?? Promise.resolve(undefined)
  }

  #meaning(): Promise<SemanticIndex | undefined> {
    if (!this.#meanings && this.#options.index !== false) {
      this.#meanings = this.#openMeaning().catch(() => {
        // As with the text index: the search itself reports what is wrong.
        this.#meanings = undefined
        return undefined
      })
    }
    return this.#meanings ?? Promise.resolve(undefined)
  }

  async #openMeaning(): Promise<SemanticIndex> {
    const choice = this.#options.embeddings ?? { kind: 'built-in' }
    let model: ModelIdentity | undefined
    try {
      model = await identify(choice)
    } catch (error) {
      // A model that cannot be used costs its half of every result, and every result says why.
      this.#modelProblem = error instanceof Error ? error.message : String(error)
    }
    return new SemanticIndex({
      root: this.root,
      realRoot: await this.root.real(),
      store: this.#keptIn(await this.#openStore()),
      choice,
      model,
      threads: Math.max(1, (this.#options.threads ?? INDEX_LIMITS.threads) - 1),
      turns: this.#turns,
      list: (signal) => this.files(signal),
    })
  }

  async #openIndex(bringUp: boolean): Promise<TextIndex> {
    const live = new TextIndex({
      root: await this.root.real(),
      ripgrep: await this.ripgrep(),
      store: this.#keptIn(await this.#openStore()),
      threads: Math.max(1, this.#options.threads ?? INDEX_LIMITS.threads),
      turns: this.#turns,
      onProgress: (phase) => {
        this.#options.onProgress?.(phase)
        this.#tell(phase, this.#watchers)
      },
    })
    if (bringUp) void live.start()
    return live
  }

  ripgrep(): Promise<string> {
    this.#ripgrep ??= ripgrepPath()
    return this.#ripgrep
  }
}
