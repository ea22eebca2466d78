// semantic/semantic-index.ts: semantic search over a tree that keeps changing. Files are chunked and embedded in the background,
// likely ones first; a search ranks what is there, checks each result against its file, and says how much was covered.
import { Parsers } from '../chunks/parsers.ts'
import { CodebaseError } from '../errors.ts'
import type { CpuTurns } from '../index/cpu-turns.ts'
import {
  type ChunkedFile,
  type ChunkSegment,
  type ChunkStore,
  type IndexStore,
  vectorBytes,
} from '../index/storage.ts'
import { Thread } from '../index/threads.ts'
import { SEMANTIC_LIMITS } from '../limits.ts'
import type { Root } from '../root.ts'
import { ChunkCollection, type Open, speaks } from './collection.ts'
import type { ModelIdentity } from './embedders.ts'
import type { EmbeddingChoice } from './embedding-choice.ts'
import { type FileFacts, likelyFirst } from './embedding-priority.ts'
import { type EmbeddingJob, EmbeddingQueue } from './embedding-queue.ts'
import { VectorsOnDemand, type WantedChunk } from './on-demand.ts'
import { rankChunks } from './rank-chunks.ts'
import { Results } from './results.ts'
import type { Coverage, SemanticQuery, SemanticSearch } from './semantic-query.ts'
import type { PendingChunk, SemanticReply, SemanticRequest } from './worker.ts'

/** Chunks that a thread is given at once; it takes its model's batch size, and those whose vectors are known. */
const SHOWN = 64

export interface SemanticOptions {
  readonly root: Root
  readonly realRoot: string
  readonly store: IndexStore
  readonly choice: EmbeddingChoice
  /** The model that `choice` means; undefined when there is none. */
  readonly model: ModelIdentity | undefined
  /** Threads that embed, at most. */
  readonly threads: number
  readonly turns: CpuTurns
  /** Every file that counts. */
  readonly list: (signal: AbortSignal) => Promise<string[]>
}

type MeaningThread = Thread<SemanticRequest, SemanticReply>

export class SemanticIndex {
  readonly #options: SemanticOptions
  readonly model: string | undefined
  readonly #stop = new AbortController()
  readonly #dimensions: number
  readonly #kept: ChunkStore
  readonly #parsers = new Parsers()
  #threads: MeaningThread[] = []
  #collection = new ChunkCollection([])
  /** What the collection is made of. */
  #segments: readonly ChunkSegment[] = []
  /** Entries of files that were not listed the last time. */
  #gone: ReadonlySet<ChunkedFile> = new Set()
  #files = 0
  #refreshed = 0
  #work: Promise<void> = Promise.resolve()
  #isWorking = false
  #failure: string | undefined
  readonly #onDemand: VectorsOnDemand
  /** How often searches hit a segment that has not all its vectors. */
  readonly #demand = new Map<string, number>()
  /** Running searches and refreshes: they may be reading segments that were replaced since. */
  #readers = 0

  constructor(options: SemanticOptions) {
    this.#options = options
    this.model = options.model?.name
    this.#dimensions = options.model?.dimensions ?? 0
    this.#kept = options.store.chunks({ id: options.model?.id ?? null, dimensions: this.#dimensions })
    this.#onDemand = new VectorsOnDemand(options.threads, (lane, chunks) =>
      this.#vectorsOf(this.#thread(lane), chunks, (ask) => ask()),
    )
  }

  get failure(): string | undefined {
    return this.#failure
  }

  get isWorking(): boolean {
    return this.#isWorking
  }

  /** Settles when everything is chunked and embedded, or could not be, or was aborted. */
  refresh(signal?: AbortSignal): Promise<void> {
    this.#refreshed = Date.now()
    if (this.#isWorking || this.#stop.signal.aborted) return this.#work
    this.#isWorking = true
    const wanted = signal ? AbortSignal.any([this.#stop.signal, signal]) : this.#stop.signal
    this.#work = this.#reading(() => this.#bringUp(wanted))
      .then(() => {
        this.#failure = undefined
      })
      .catch((error: unknown) => {
        if (!wanted.aborted) this.#failure = error instanceof Error ? error.message : String(error)
      })
      .finally(() => {
        this.#isWorking = false
      })
    return this.#work
  }

  refreshSoon(): void {
    if (Date.now() - this.#refreshed > SEMANTIC_LIMITS.refreshMs) void this.refresh()
  }

  coverage(): Coverage {
    this.#load()
    const { files, chunks, vectors } = this.#collection.counts()
    return {
      files: Math.max(this.#files, files),
      files_indexed: files,
      chunks,
      chunks_with_vectors: this.model ? vectors : 0,
    }
  }

  /**
   * Stops what is running, removes everything and starts from nothing. An abort before that rejects, and nothing is removed;
   * after a later one the next refresh goes on from there.
   */
  async rebuild(signal?: AbortSignal): Promise<void> {
    await this.#endThreads()
    await this.#work
    signal?.throwIfAborted()
    if (!this.#options.store.tryLock())
      throw new CodebaseError('IO', 'Another process is indexing this folder.')
    await this.#kept.clear()
    this.#load()
    const stop = () => void this.#endThreads()
    signal?.addEventListener('abort', stop, { once: true })
    await this.refresh(signal).finally(() => signal?.removeEventListener('abort', stop))
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#endThreads()
    await this.#work
    this.#collection = new ChunkCollection([])
    this.#kept.close()
  }

  search(query: SemanticQuery): Promise<SemanticSearch> {
    return this.#reading(() => this.#search(query))
  }

  async #reading<T>(read: () => Promise<T>): Promise<T> {
    this.#readers++
    try {
      return await read()
    } finally {
      this.#readers--
      if (this.#readers === 0) this.#kept.release()
    }
  }

  async #search(query: SemanticQuery): Promise<SemanticSearch> {
    this.#load()
    const collection = this.#collection
    const canAsk = this.model !== undefined && query.mode !== 'text'
    const asked = canAsk ? await this.#vectorOf(query.query) : undefined
    const mode = asked?.vector ? query.mode : 'text'
    const accepted = collection.accepted(query.language, query.path)
    const results = new Results(this.#options.root, collection, this.#parsers)
    const { ranked, embedded } = await rankChunks(results, {
      mode,
      query: query.query,
      vector: asked?.vector,
      accepted,
      embed: (wanted) => {
        this.#noteDemand(collection, wanted)
        return this.#onDemand.vectors(wanted)
      },
    })
    const hits = await results.present(ranked, query.maxResults)
    return { hits, mode, embedded, ...(asked?.problem !== undefined && { problem: asked.problem }) }
  }

  /** What is searched now is likely to be searched again: its segment comes first. Older searches count for less. */
  #noteDemand(collection: ChunkCollection, wanted: readonly WantedChunk[]): void {
    for (const [name, count] of this.#demand) this.#demand.set(name, count / 2)
    for (const { id } of wanted) {
      const name = collection.openOf(id)?.segment.name
      if (name !== undefined) this.#demand.set(name, (this.#demand.get(name) ?? 0) + 1)
    }
  }

  /** Why the model cannot give a vector, if so. The built-in one need not be tried. */
  async problemOfModel(): Promise<string | undefined> {
    if (this.model === undefined || this.#options.choice.kind === 'built-in') return undefined
    const { problem } = await this.#vectorOf('probe')
    if (this.#stop.signal.aborted) return undefined
    // Until a refresh has gone through, answers say so as well.
    this.#failure ??= problem
    return problem
  }

  /** A model that fails costs its half of the result, not the result. */
  async #vectorOf(text: string): Promise<{ vector?: Float32Array; problem?: string }> {
    try {
      const reply = await this.#thread(0).ask({ do: 'query', text, choice: this.#options.choice })
      return reply.type === 'vector' ? { vector: reply.vector } : {}
    } catch (error) {
      return { problem: error instanceof Error ? error.message : String(error) }
    }
  }

  async #endThreads(): Promise<void> {
    const threads = this.#threads
    this.#threads = []
    await Promise.all(threads.map((thread) => thread.close()))
  }

  #thread(n: number): MeaningThread {
    // A thread made while the others are being ended would never be ended.
    this.#stop.signal.throwIfAborted()
    while (this.#threads.length <= n) this.#threads.push(new Thread('semantic/worker'))
    return this.#threads[n] as MeaningThread
  }

  /** Work of this size waits while the text index is at work; a remote model costs no processor here. */
  #inTurn(ask: () => Promise<SemanticReply>, isServed = false): Promise<SemanticReply> {
    return isServed ? ask() : this.#options.turns.beside(ask, this.#stop.signal)
  }

  /** Takes in what was committed since, by any process. */
  #load(): void {
    const segments = this.#kept.segments()
    if (segments === this.#segments) return
    const next: Open[] = []
    let base = 0
    for (const segment of segments) {
      next.push({ segment, base, stale: new Uint8Array(segment.files.length), fileOf: undefined })
      base += segment.chunks
    }
    const seen = new Set<string>()
    for (const open of [...next].reverse())
      open.segment.files.forEach((file, n) => {
        if (seen.has(file.path) || this.#gone.has(file)) open.stale[n] = 1
        seen.add(file.path)
      })
    this.#collection = new ChunkCollection(next)
    this.#segments = segments
  }

  async #bringUp(wanted: AbortSignal): Promise<void> {
    const { store, realRoot, list } = this.#options
    if (store.unavailable) throw new CodebaseError('IO', store.unavailable)
    this.#load()
    const all = await list(wanted)
    // An abort ends the running threads; a later request would start a new one.
    wanted.throwIfAborted()
    const reply = await this.#inTurn(() => this.#thread(0).ask({ do: 'stat', root: realRoot, paths: all }))
    if (reply.type !== 'stats') return
    this.#files = all.length
    const changed = this.#changedFiles(all, reply.numbers)
    if (!store.tryLock()) return
    await this.#kept.sweep()
    const files = [...new Set([...changed, ...this.#crowded()])]
    for (let at = 0; at < files.length; at += SEMANTIC_LIMITS.filesPerSegment) {
      wanted.throwIfAborted()
      await this.#chunkSome(files.slice(at, at + SEMANTIC_LIMITS.filesPerSegment))
    }
    try {
      await this.#embedAll(wanted)
    } catch (error) {
      // A model may be down for long, and every edit adds a segment.
      await this.#dropStale(({ vectors }) => vectors === 0)
      throw error
    }
    await this.#dropStale()
  }

  /** The files of small segments, once these are many. Chunked again they are in few; their vectors are known by then. */
  #crowded(): string[] {
    const left = ({ segment, stale }: Open) => segment.files.filter((_, n) => !stale[n])
    const small = this.#collection.opens
      .map(left)
      .filter(({ length }) => length > 0 && length < SEMANTIC_LIMITS.filesPerSegment / 2)
    return small.length > SEMANTIC_LIMITS.smallSegments ? small.flat().map(({ path }) => path) : []
  }

  /** New and changed files, the likely ones first. Files that are gone turn stale. */
  #changedFiles(all: readonly string[], numbers: Float64Array): string[] {
    const states = new Map<string, { size: number; mtimeMs: number }>()
    const here = new Set(all)
    const gone = new Set<ChunkedFile>()
    for (const open of this.#collection.opens)
      open.segment.files.forEach((file, n) => {
        if (!here.has(file.path)) {
          gone.add(file)
          open.stale[n] = 1
        }
        if (!open.stale[n]) states.set(file.path, file)
      })
    this.#gone = gone
    const changed: FileFacts[] = []
    all.forEach((path, n) => {
      const size = numbers[n * 2] as number
      const mtimeMs = numbers[n * 2 + 1] as number
      const state = states.get(path)
      if (state?.size === size && state.mtimeMs === mtimeMs) return
      changed.push({ path, size, mtimeMs })
    })
    return likelyFirst(changed)
  }

  async #chunkSome(files: readonly string[]): Promise<void> {
    const reply = await this.#inTurn(() =>
      this.#thread(0).ask({ do: 'chunk', root: this.#options.realRoot, files }),
    )
    if (reply.type !== 'chunked') return
    const name = await this.#kept.add(reply.batch)
    this.#load()
    await this.#kept.commit([...this.#segments.map((segment) => segment.name), name])
    this.#load()
  }

  /** Segments without a current file are removed; until now their vectors could be re-used. */
  async #dropStale(among: (segment: ChunkSegment) => boolean = () => true): Promise<void> {
    const current = this.#collection.opens.filter((open) => speaks(open) || !among(open.segment))
    if (current.length === this.#collection.opens.length) return
    await this.#kept.commit(current.map(({ segment }) => segment.name))
    this.#load()
    await this.#kept.sweep()
  }

  async #embedAll(wanted: AbortSignal): Promise<void> {
    if (!this.model) return
    const pending = this.#collection.opens.filter(
      (open) => speaks(open) && open.segment.vectors < open.segment.chunks,
    )
    if (pending.length === 0) return
    const known = this.#knownVectors(pending)
    const failed = new AbortController()
    const goOn = AbortSignal.any([wanted, failed.signal])
    const queue = new EmbeddingQueue(
      pending.map(({ segment }) => segment),
      (name) => this.#demand.get(name) ?? 0,
    )
    const embedInTurn = async (n: number) => {
      for (let job = queue.take(); job; job = queue.take()) {
        await this.#embed(this.#thread(n), job, known, goOn)
        queue.putBack(job)
      }
    }
    // A thread that still adds vectors when this settles would do so beside the next refresh, and a vector belongs to the chunk at its place.
    await Promise.all(
      Array.from({ length: Math.min(this.#options.threads, pending.length) }, (_, n) =>
        embedInTurn(n).catch((error: unknown) => failed.abort(error)),
      ),
    )
    failed.signal.throwIfAborted()
    this.#demand.clear()
  }

  /** The next few chunks of a segment. A batch is stored before the next is requested, so a crash costs one at most. */
  async #embed(
    thread: MeaningThread,
    job: EmbeddingJob,
    known: ReadonlyMap<string, Uint8Array>,
    goOn: AbortSignal,
  ): Promise<void> {
    const { segment } = job
    const end = Math.min(segment.chunks, job.at + SEMANTIC_LIMITS.embedTurn)
    while (job.at < end) {
      goOn.throwIfAborted()
      const shown = Array.from({ length: Math.min(SHOWN, segment.chunks - job.at) }, (_, n): PendingChunk => {
        const { file, hash } = segment.meta(job.at + n)
        return {
          path: segment.files[file]?.path ?? '',
          hash,
          known: known.get(hash) ?? this.#onDemand.known(hash),
        }
      })
      const records = await this.#vectorsOf(thread, shown, (ask) =>
        this.#inTurn(ask, this.#options.choice.kind === 'endpoint'),
      )
      if (records.length === 0) throw new CodebaseError('IO', 'The model gave no vector.')
      await this.#kept.addVectors(segment.name, Buffer.concat(records))
      job.at += records.length
    }
  }

  /** Of as many of these chunks, from the first on, as the model makes at once. */
  async #vectorsOf(
    thread: MeaningThread,
    chunks: readonly PendingChunk[],
    when: (ask: () => Promise<SemanticReply>) => Promise<SemanticReply>,
  ): Promise<Uint8Array[]> {
    const { realRoot: root, choice } = this.#options
    const dimensions = this.#dimensions
    const reply = await when(() => thread.ask({ do: 'embed', root, chunks, choice, dimensions }))
    if (reply.type !== 'embedded') return []
    const size = vectorBytes({ dimensions })
    return Array.from({ length: reply.records.length / size }, (_, n) =>
      reply.records.slice(n * size, (n + 1) * size),
    )
  }

  /** Vectors of chunks whose text did not change when their file did. */
  #knownVectors(pending: readonly Open[]): Map<string, Uint8Array> {
    const wanted = new Set(pending.flatMap(({ segment }) => segment.metas().map(({ hash }) => hash)))
    const known = new Map<string, Uint8Array>()
    const record = vectorBytes({ dimensions: this.#dimensions })
    for (const { segment } of this.#collection.opens) {
      if (segment.vectors === 0) continue
      const hashes = segment.metas().map(({ hash }) => hash)
      segment.scanVectors((first, records) => {
        for (let n = 0; n * record < records.length; n++) {
          const hash = hashes[first + n] ?? ''
          if (wanted.has(hash)) known.set(hash, records.slice(n * record, (n + 1) * record))
        }
      })
    }
    return known
  }
}
