// index/text-index.ts: the text index of a tree that keeps changing. It names candidate files only while it knows of every change;
// whenever it does not (no watcher, rules edited, events lost), it names none and the tree is scanned instead.
import { lstatSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FILE_LIMITS, INDEX_LIMITS } from '../limits.ts'
import { listFiles } from '../ripgrep.ts'
import type { CandidateSource, Candidates, TextQuery } from '../text/search.ts'
import type { CpuTurns } from './cpu-turns.ts'
import { DirtyFiles } from './dirty-files.ts'
import { isRuleFile, rulesStamp } from './ignore-stamp.ts'
import { FIRST_LOOK_BYTES } from './indexing.ts'
import { buildText, type IndexThread, indexOn, newIndexThread } from './jobs.ts'
import { literalQuery } from './query.ts'
import { regexQuery } from './regex.ts'
import { FLAG } from './segment.ts'
import type { Candidate, IndexStore } from './storage.ts'

export type IndexPhase =
  | { readonly kind: 'off'; readonly reason: string }
  | { readonly kind: 'starting' }
  | { readonly kind: 'building'; readonly done: number; readonly of: number }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly reason: string }

/** Past this many changed files a scan is faster than checking each. */
const DIRTY_MAX = 2000

const STOPPED = 'the first build was stopped before its end; reindex builds it'

export interface TextIndexOptions {
  readonly root: string
  readonly ripgrep: string
  readonly store: IndexStore
  readonly threads: number
  readonly turns: CpuTurns
  readonly onProgress?: ((phase: IndexPhase) => void) | undefined
}

export class TextIndex implements CandidateSource {
  readonly #options: TextIndexOptions
  readonly #stop = new AbortController()
  #phase: IndexPhase = { kind: 'starting' }
  #watcher: IndexThread | undefined
  #sentinels: string | undefined
  /** True while every change since the last comparison is known. */
  #isLive = false
  #rules = ''
  #differences: DirtyFiles
  #settle: NodeJS.Timeout | undefined
  #work: Promise<void> = Promise.resolve()
  #step: Promise<unknown> = Promise.resolve()
  /** Ends a build whose caller has gone. */
  #wanted: AbortSignal | undefined

  constructor(options: TextIndexOptions) {
    this.#options = options
    this.#differences = this.#newDifferences()
  }

  get phase(): IndexPhase {
    return this.#phase
  }

  get mayHaveLargeFiles(): boolean {
    return this.#phase.kind !== 'ready' || this.largeFiles > 0
  }

  /** Files that count but are too large to search. */
  get largeFiles(): number {
    return this.#differences.largeFiles
  }

  /** Brings the index up in the background; settles when it is ready, off or failed. Never throws. */
  start(): Promise<void> {
    return this.#queue(() => this.#bringUp(false))
  }

  /** Builds everything anew. An abort leaves the index as it was. */
  rebuild(signal?: AbortSignal): Promise<void> {
    return this.#queue(async () => {
      this.#wanted = signal
      try {
        signal?.throwIfAborted()
        await this.#bringUp(true)
      } catch (error) {
        if (!signal?.aborted) throw error
        // The lock may be this process's own: without an index there is no other process to wait for.
        if (!this.#options.store.text()) return this.#enter({ kind: 'off', reason: STOPPED })
        await this.#compare()
      } finally {
        this.#wanted = undefined
      }
    })
  }

  async close(): Promise<void> {
    this.#stop.abort()
    clearTimeout(this.#settle)
    this.#isLive = false
    await this.#watcher?.close()
    await this.#work
    this.#options.store.close()
    if (this.#sentinels) await rm(this.#sentinels, { recursive: true, force: true })
  }

  async candidates(query: TextQuery): Promise<Candidates | undefined> {
    if (!this.#isLive) return undefined
    const parsed = query.regex
      ? regexQuery(query.query, query.caseSensitive)
      : { query: literalQuery(query.query, query.caseSensitive), ignoresCase: !query.caseSensitive }
    if (parsed.query.kind === 'any') return undefined
    const inGlob = query.glob.length > 0 ? await this.#differences.globbed(query.glob) : undefined
    if (!(await this.#catchUp())) return undefined
    const { dirty, absent } = this.#differences
    if (inGlob && !this.#differences.isGlobbed(query.glob, inGlob)) return undefined
    if (query.path && !this.#knows(query.path)) return undefined
    // From here to the end nothing is awaited, so the known changes stay as they are.
    const found = this.#options.store.text()?.candidates(parsed.query, parsed.ignoresCase)
    if (!found) return undefined
    const inPath = (path: string) => !query.path || isWithin(path, query.path)
    if (dirty.size > DIRTY_MAX) return undefined
    // A glob only narrows: ignored files are in no list here.
    const wanted = (path: string) => (inGlob?.has(path) ?? true) && !absent.has(path) && inPath(path)
    return this.#sorted(found, dirty, wanted)
  }

  #sorted(
    found: readonly Candidate[],
    unread: ReadonlySet<string>,
    wanted: (path: string) => boolean,
  ): Candidates {
    const files: string[] = []
    const byWalk: string[] = []
    for (const { path, flags } of found) {
      if (unread.has(path) || flags & FLAG.large || !wanted(path)) continue
      if (flags & FLAG.encoded) files.push(path)
      else if (flags & FLAG.lateNul) byWalk.push(path)
      else if (!(flags & FLAG.binary)) files.push(path)
    }
    for (const path of unread) {
      const bytes = wanted(path) ? this.#bytes(path) : undefined
      if (!bytes) continue
      const nul = isUtf16(bytes) ? -1 : bytes.indexOf(0)
      if (nul < 0) files.push(path)
      else if (nul >= FIRST_LOOK_BYTES) byWalk.push(path)
    }
    const of = (this.#options.store.text()?.fileCount ?? 0) - this.#differences.absent.size
    return { files: files.sort(), byWalk, of }
  }

  #bytes(path: string): Buffer | undefined {
    const absolute = join(this.#options.root, path)
    try {
      const found = lstatSync(absolute)
      return found.isFile() && found.size <= FILE_LIMITS.searchBytes ? readFileSync(absolute) : undefined
    } catch {
      // Gone or unreadable since: ripgrep would skip it as well.
      return undefined
    }
  }

  #knows(path: string): boolean {
    const { folders, dirty } = this.#differences
    return folders.has(path) || this.#options.store.text()?.has(path) === true || dirty.has(path)
  }

  /** Takes in the watcher's events. False when the index cannot be trusted for this query. */
  async #catchUp(): Promise<boolean> {
    const inStep = this.#step.then(async () => {
      if (!this.#isLive) return false
      if (rulesStamp(this.#options.root) !== this.#rules) return this.#distrust()
      // Another process has dropped the index.
      if (!this.#options.store.text()) return this.#distrust()
      const paths = await this.#changes()
      if (!paths || paths.some((path) => isRuleFile(path) || this.#differences.isReplaced(path)))
        return this.#distrust()
      try {
        await this.#differences.note(paths, this.#options.store.text())
      } catch {
        // The watcher reports a path once: a change that could not be recorded now is known only after a full comparison.
        return this.#distrust()
      }
      if (paths.length > 0) this.#updateSoon()
      return this.#isLive
    })
    // One at a time: what one has taken from the watcher, the next must find recorded.
    this.#step = inStep.catch(() => false)
    return inStep
  }

  async #changes(): Promise<readonly string[] | undefined> {
    try {
      const reply = await this.#watcher?.ask({ do: 'barrier' })
      return reply?.type === 'changes' && !reply.changes.unsure ? reply.changes.paths : undefined
    } catch {
      // A watcher that does not answer in time cannot be relied on.
      return undefined
    }
  }

  /** Searches scan until everything was compared again. */
  #distrust(): false {
    this.#isLive = false
    void this.#queue(() => this.#compare())
    return false
  }

  /** Background steps run one after the other; one that fails leaves the last good index in place. */
  #queue(step: () => Promise<void>): Promise<void> {
    this.#work = this.#work.then(async () => {
      if (this.#stop.signal.aborted) return
      try {
        await this.#options.turns.alone(step)
      } catch (error) {
        if (this.#stop.signal.aborted) return
        this.#isLive = false
        this.#enter({ kind: 'failed', reason: error instanceof Error ? error.message : String(error) })
      }
    })
    return this.#work
  }

  #enter(phase: IndexPhase): void {
    this.#phase = phase
    this.#options.onProgress?.(phase)
  }

  async #bringUp(anew: boolean): Promise<void> {
    const { store } = this.#options
    if (store.unavailable) return this.#enter({ kind: 'off', reason: store.unavailable })
    this.#enter({ kind: 'starting' })
    const files = await this.#listAll()
    if (files.length < INDEX_LIMITS.minFiles && !anew)
      return this.#enter({ kind: 'off', reason: `${files.length} files: a scan is as quick` })
    if (anew || !store.text()) await this.#build(files)
    await this.#compare()
  }

  async #listAll(): Promise<string[]> {
    const names: string[] = []
    const { root: cwd, ripgrep } = this.#options
    await listFiles(ripgrep, { cwd, signal: this.#stop.signal }, (name) => names.push(name))
    return names
  }

  /** Does nothing where another process holds the lock: then that one builds. */
  async #build(files: readonly string[]): Promise<void> {
    const { root, store, threads } = this.#options
    if (!store.tryLock()) return
    await buildText(files, {
      root,
      store,
      threads,
      signal: this.#wanted ? AbortSignal.any([this.#stop.signal, this.#wanted]) : this.#stop.signal,
      onProgress: (done, of) => this.#enter({ kind: 'building', done, of }),
    })
  }

  #newDifferences(): DirtyFiles {
    const { root, ripgrep } = this.#options
    return new DirtyFiles({ root, ripgrep, signal: this.#stop.signal })
  }

  #thread(): IndexThread {
    this.#watcher ??= newIndexThread()
    return this.#watcher
  }

  /** Watches first, then checks every file once: after that, every difference is known. */
  async #compare(): Promise<void> {
    const { store, root } = this.#options
    const text = store.text()
    if (!text) {
      this.#settle ??= setTimeout(() => {
        this.#settle = undefined
        void this.start()
      }, INDEX_LIMITS.retryMs).unref()
      return this.#enter({ kind: 'off', reason: 'another process is building the index' })
    }
    if (process.platform !== 'linux')
      return this.#enter({
        kind: 'off',
        reason: 'changes cannot be followed on this system yet, so the tree is scanned',
      })
    this.#isLive = false
    this.#rules = rulesStamp(root)
    this.#sentinels ??= await mkdtemp(join(tmpdir(), 'plugboard-watch-'))
    const differences = this.#newDifferences()
    await differences.findFolders()
    const hidden = [...differences.folders].filter((folder) => /(^|\/)\./.test(folder))
    await this.#thread().ask({ do: 'watch', root, sentinels: this.#sentinels, hidden })
    await differences.findAll(text)
    this.#differences = differences
    this.#isLive = true
    this.#enter({ kind: 'ready' })
    this.#updateSoon()
  }

  #updateSoon(): void {
    if (this.#settle || this.#differences.dirty.size === 0) return
    this.#settle = setTimeout(() => {
      this.#settle = undefined
      void this.#queue(() => this.#update())
    }, INDEX_LIMITS.settleMs)
    this.#settle.unref()
  }

  /** Indexes what changed, alone, as one more segment. Another process may hold the lock: then it does this work. */
  async #update(): Promise<void> {
    const { store } = this.#options
    const differences = this.#differences
    const { dirty } = differences
    const text = store.text()
    if (!this.#isLive || dirty.size === 0 || !text) return
    if (!store.tryLock()) return differences.followWriter(text)
    if (text.staleShare > INDEX_LIMITS.rebuildShare || dirty.size > DIRTY_MAX) {
      await this.#build(await this.#listAll())
      return this.#compare()
    }
    const small = text.segments.filter(({ files }) => files < INDEX_LIMITS.smallSegmentFiles)
    const merge = small.length > INDEX_LIMITS.smallSegments ? small : []
    const files = [...new Set([...dirty, ...merge.flatMap(({ name }) => text.livePaths(name))])].sort()
    const touchedSince = differences.remember()
    const kept = text.segments.filter((segment) => !merge.includes(segment))
    const added = await Promise.all(await indexOn(this.#thread(), files, this.#options))
    await store.commitText([...kept, ...added])
    if (merge.length > 0) await store.sweepText()
    const isKnown = await this.#catchUp()
    const touched = touchedSince()
    if (!isKnown) return
    const after = store.text()
    // Files that changed again meanwhile, or were written too recently, are checked once more.
    for (const path of files)
      if (!touched.has(path) && after?.state(path)?.mtimeMs !== -1) differences.settle(path)
    this.#updateSoon()
  }
}

const isWithin = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`)

const isUtf16 = (bytes: Buffer) =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
