// index/live.ts: the text index of a tree that keeps changing. It names candidate files only while it knows of every change;
// whenever it does not (no watcher, rules edited, events lost), it names none and the tree is scanned instead.
import { lstatSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CodebaseError } from '../errors.ts'
import { slashed } from '../files.ts'
import { FILE_LIMITS, INDEX_LIMITS } from '../limits.ts'
import { NameSplitter, runRipgrep } from '../ripgrep.ts'
import type { CandidateSource, Candidates, TextQuery } from '../text/search.ts'
import { FIRST_LOOK_BYTES } from './indexing.ts'
import { literalQuery } from './query.ts'
import { regexQuery } from './regex.ts'
import { isRuleFile, rulesStamp } from './rules.ts'
import { FLAG } from './segment.ts'
import type { Candidate, IndexStore, TextSegment, TextSnapshot } from './storage.ts'
import { Thread } from './threads.ts'
import type { Turns } from './turns.ts'
import type { Reply, Request } from './worker.ts'

type IndexWorker = Thread<Request, Reply>
const newWorker = (): IndexWorker => new Thread('index/worker')

export type IndexPhase =
  | { readonly kind: 'off'; readonly reason: string }
  | { readonly kind: 'starting' }
  | { readonly kind: 'building'; readonly done: number; readonly of: number }
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly reason: string }

/** Past this many changed files a scan is quicker than checking each. */
const DIRTY_MAX = 2000

const STOPPED = 'the first build was stopped before its end; reindex builds it'

export interface LiveOptions {
  readonly root: string
  readonly ripgrep: string
  readonly store: IndexStore
  readonly threads: number
  readonly turns: Turns
  readonly onProgress?: ((phase: IndexPhase) => void) | undefined
}

export class LiveIndex implements CandidateSource {
  readonly #options: LiveOptions
  readonly #stop = new AbortController()
  #phase: IndexPhase = { kind: 'starting' }
  #worker: IndexWorker | undefined
  #sentinels: string | undefined
  /** True while every change since the last comparison is known. */
  #isLive = false
  #rules = ''
  /** Files that differ from what the index says of them, new ones included. */
  #dirty = new Set<string>()
  /** Files the index has and the rules now leave out. */
  #absent = new Set<string>()
  /** New paths that the rules leave out. */
  #ignored = new Set<string>()
  #folders = new Set<string>()
  #globs = new Map<string, Set<string>>()
  #settle: NodeJS.Timeout | undefined
  #work: Promise<void> = Promise.resolve()
  #step: Promise<unknown> = Promise.resolve()
  /** While an update runs: what changed since it began. */
  #touched: Set<string> | undefined
  #largeFiles = 0
  /** Ends a build that nobody waits for any more. */
  #wanted: AbortSignal | undefined

  constructor(options: LiveOptions) {
    this.#options = options
  }

  get phase(): IndexPhase {
    return this.#phase
  }

  get mayHaveLargeFiles(): boolean {
    return this.#phase.kind !== 'ready' || this.#largeFiles > 0
  }

  /** Files that count but are too large to search. */
  get largeFiles(): number {
    return this.#largeFiles
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
        // The lock may be this process's own: without an index there is nobody to wait for.
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
    await this.#worker?.close()
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
    const inGlob = query.glob.length > 0 ? await this.#globbed(query.glob) : undefined
    if (!(await this.#catchUp())) return undefined
    // A new file may have come after the glob was asked about; the next line asks again if so.
    if (inGlob && this.#globs.get(JSON.stringify(query.glob)) !== inGlob) return undefined
    if (query.path && !this.#knows(query.path)) return undefined
    // From here to the end nothing waits, so that what is known of changes stays as it is.
    const found = this.#options.store.text()?.candidates(parsed.query, parsed.ignoresCase)
    if (!found) return undefined
    const inPath = (path: string) => !query.path || isWithin(path, query.path)
    // A glob names files, as in ripgrep, even those that the rules would leave out; the index has not read these.
    const unread = new Set(this.#dirty)
    const text = this.#options.store.text()
    for (const path of inGlob ?? []) if (this.#absent.has(path) || !text?.has(path)) unread.add(path)
    if (unread.size > DIRTY_MAX) return undefined
    const wanted = (path: string) => (inGlob ? inGlob.has(path) : !this.#absent.has(path)) && inPath(path)
    return this.#sorted(found, unread, wanted)
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
    const of = (this.#options.store.text()?.fileCount ?? 0) - this.#absent.size
    return { files: files.sort(), byWalk, of }
  }

  #bytes(path: string): Buffer | undefined {
    const absolute = join(this.#options.root, path)
    try {
      const found = lstatSync(absolute)
      return found.isFile() && found.size <= FILE_LIMITS.searchBytes ? readFileSync(absolute) : undefined
    } catch {
      // Gone or unreadable since: ripgrep would pass over it as well.
      return undefined
    }
  }

  #knows(path: string): boolean {
    return this.#folders.has(path) || this.#options.store.text()?.has(path) === true || this.#dirty.has(path)
  }

  /** Takes in what the watcher saw. False when the index cannot be trusted for this query. */
  async #catchUp(): Promise<boolean> {
    const inStep = this.#step.then(async () => {
      if (!this.#isLive) return false
      if (rulesStamp(this.#options.root) !== this.#rules) return this.#distrust()
      // Another process has dropped the index.
      if (!this.#options.store.text()) return this.#distrust()
      const paths = await this.#changes()
      if (!paths || paths.some((path) => isRuleFile(path) || this.#isReplaced(path))) return this.#distrust()
      await this.#note(paths)
      return this.#isLive
    })
    // One at a time: what one has taken from the watcher, the next must find noted.
    this.#step = inStep.catch(() => false)
    return inStep
  }

  async #changes(): Promise<readonly string[] | undefined> {
    const worker = this.#worker
    if (!worker) return undefined
    try {
      const reply = await worker.ask({ do: 'barrier' })
      return reply.type === 'changes' && !reply.changes.unsure ? reply.changes.paths : undefined
    } catch {
      // A watcher that does not answer in time is not one to rely on.
      return undefined
    }
  }

  /** A link where a folder was leads the names of the files in it elsewhere, perhaps out of the root. */
  #isReplaced(path: string): boolean {
    if (!this.#folders.has(path)) return false
    const found = lstatSync(join(this.#options.root, path), { throwIfNoEntry: false })
    return found !== undefined && !found.isDirectory()
  }

  /** Scans answer until everything was compared again. */
  #distrust(): false {
    this.#isLive = false
    void this.#queue(() => this.#compare())
    return false
  }

  async #note(paths: readonly string[]): Promise<void> {
    const text = this.#options.store.text()
    const unknown: string[] = []
    for (const path of paths) {
      this.#touched?.add(path)
      if (this.#dirty.has(path) || this.#ignored.has(path) || this.#folders.has(path)) continue
      if (text?.has(path) && !this.#absent.has(path)) this.#dirty.add(path)
      else unknown.push(path)
    }
    if (unknown.length > 0) await this.#sortOut(unknown)
    if (paths.length > 0) this.#updateSoon()
  }

  /** Asks ripgrep which of the new paths count, by listing the folders they are in. */
  async #sortOut(paths: readonly string[]): Promise<void> {
    const listed = new Set<string>()
    const shallow = new Set<string>()
    const deep = new Set<string>()
    for (const path of paths) {
      const parent = parentOf(path)
      if (this.#folders.has(parent)) shallow.add(parent)
      else deep.add(this.#nearest(parent))
    }
    for (const [folders, depth] of [
      [shallow, ['--max-depth=1']],
      [deep, []],
    ] as const)
      if (folders.size > 0) for (const name of await this.#list([...folders], depth)) listed.add(name)
    for (const path of paths) {
      if (listed.has(path)) {
        this.#dirty.add(path)
        this.#addFolders(path)
        this.#globs.clear()
      } else this.#ignored.add(path)
    }
  }

  #nearest(folder: string): string {
    let at = folder
    while (at !== '' && !this.#folders.has(at)) at = parentOf(at)
    return at
  }

  async #list(folders: readonly string[], extra: readonly string[]): Promise<string[]> {
    const names: string[] = []
    await this.#eachListed(folders, extra, (name) => names.push(name))
    return names
  }

  async #eachListed(
    folders: readonly string[],
    extra: readonly string[],
    each: (name: string) => void,
  ): Promise<void> {
    const splitter = new NameSplitter((raw) => each(slashed(raw.toString('utf8')).replace(/^\.\//, '')))
    const { root, ripgrep } = this.#options
    const paths = folders.map((folder) => `./${folder}`)
    const end = await runRipgrep(
      ripgrep,
      ['--files', '--null', ...extra, '--', ...paths],
      { cwd: root, signal: this.#stop.signal },
      (piece) => {
        splitter.push(piece)
        return true
      },
    )
    if (end !== 'done') throw new CodebaseError('TIMEOUT', 'Listing the files took too long.')
  }

  async #globbed(glob: readonly string[]): Promise<Set<string>> {
    const key = JSON.stringify(glob)
    let found = this.#globs.get(key)
    if (!found) {
      found = new Set(
        await this.#list(
          [''],
          glob.map((one) => `--glob=${one}`),
        ),
      )
      if (this.#globs.size > 20) this.#globs.clear()
      this.#globs.set(key, found)
    }
    return found
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
    const files = await this.#list([''], [])
    if (files.length < INDEX_LIMITS.minFiles && !anew)
      return this.#enter({ kind: 'off', reason: `${files.length} files: a scan is as quick` })
    if (anew || !store.text()) await this.#build(files)
    await this.#compare()
  }

  /** Indexes every file in slices, on as many threads as allowed, and commits once. */
  async #build(files: readonly string[]): Promise<void> {
    const { store, threads } = this.#options
    if (!store.tryLock()) return
    await store.sweepText()
    const sorted = [...files].sort()
    const slices: string[][] = []
    for (let at = 0; at < sorted.length; at += INDEX_LIMITS.filesPerJob)
      slices.push(sorted.slice(at, at + INDEX_LIMITS.filesPerJob))
    const results: (readonly TextSegment[])[] = []
    const done = slices.map(() => 0)
    const report = () =>
      this.#enter({ kind: 'building', done: done.reduce((a, b) => a + b, 0), of: sorted.length })
    report()
    const workers = [this.#thread()]
    while (workers.length < Math.min(threads, slices.length)) workers.push(newWorker())
    let next = 0
    const stop = () => void Promise.all(workers.map((worker) => worker.close()))
    this.#wanted?.addEventListener('abort', stop, { once: true })
    try {
      await Promise.all(
        workers.map(async (worker) => {
          // What a job found is being kept while the thread is at the next one.
          let kept: Promise<unknown> = Promise.resolve()
          for (let n = next++; n < slices.length; n = next++) {
            this.#wanted?.throwIfAborted()
            const slice = slices[n] as string[]
            const adding = await this.#indexOn(worker, slice, (count) => {
              done[n] = count
              report()
            })
            await kept
            kept = Promise.all(adding).then((segments) => {
              results[n] = segments
            })
            kept.catch(() => undefined)
            done[n] = slice.length
          }
          await kept
        }),
      )
    } finally {
      this.#wanted?.removeEventListener('abort', stop)
      // A thread that built segments keeps their memory; the watcher gets a fresh one.
      this.#worker = undefined
      await Promise.all(workers.map((worker) => worker.close()))
    }
    // A thread may have been done before it was stopped.
    this.#wanted?.throwIfAborted()
    await store.commitText(results.flat())
    store.text()
    await store.sweepText()
  }

  /** Settles when the files are read; the promises in the answer when they are kept as well. */
  async #indexOn(
    worker: IndexWorker,
    files: readonly string[],
    onProgress: (count: number) => void = () => undefined,
  ): Promise<Promise<TextSegment>[]> {
    const { store, root } = this.#options
    const adding: Promise<TextSegment>[] = []
    const job = { root, files, filesPerSegment: INDEX_LIMITS.filesPerSegment }
    await worker.ask({ do: 'index', job }, (part) => {
      if (part.type === 'progress') onProgress(part.files)
      if (part.type !== 'part' || !part.batch) return
      const added = store.addText(part.batch)
      // Whoever awaits it sees the failure; until then it is nobody's.
      added.catch(() => undefined)
      adding.push(added)
    })
    return adding
  }

  /** Another process keeps the index: what it has taken in since is no longer different. A later change is an event again. */
  #followWriter(text: TextSnapshot): void {
    for (const path of this.#dirty) {
      const state = text.state(path)
      const found = lstatSync(join(this.#options.root, path), { throwIfNoEntry: false })
      if (!found && !state) this.#dirty.delete(path)
      if (!found || !state) continue
      const isSame =
        state.size === found.size && state.mtimeMs === found.mtimeMs && state.ctimeMs === found.ctimeMs
      if (isSame) this.#dirty.delete(path)
    }
  }

  #thread(): IndexWorker {
    this.#worker ??= newWorker()
    return this.#worker
  }

  /** Watches first, then looks at every file once: after that, every difference is known. */
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
    this.#dirty = new Set()
    this.#absent = new Set()
    this.#ignored = new Set()
    this.#globs.clear()
    this.#sentinels ??= await mkdtemp(join(tmpdir(), 'plugboard-watch-'))
    this.#folders = new Set([''])
    await this.#eachListed([''], [], (path) => this.#addFolders(path))
    const hidden = [...this.#folders].filter((folder) => /(^|\/)\./.test(folder))
    await this.#thread().ask({ do: 'watch', root, sentinels: this.#sentinels, hidden })
    await this.#survey(text)
    this.#isLive = true
    this.#enter({ kind: 'ready' })
    if (this.#dirty.size > 0) this.#updateSoon()
  }

  /** Looks at every file that counts, on a thread of its own, because what that takes should not stay. */
  async #survey(text: TextSnapshot): Promise<void> {
    const { root, ripgrep } = this.#options
    const looker = newWorker()
    const seen = new Uint8Array(text.places)
    this.#largeFiles = 0
    const look = (path: string, size: number, mtimeMs: number, ctimeMs: number) => {
      this.#addFolders(path)
      const state = text.state(path)
      if (state) seen[state.place] = 1
      if (size > FILE_LIMITS.searchBytes) this.#largeFiles++
      if (!state || state.size !== size || state.mtimeMs !== mtimeMs || state.ctimeMs !== ctimeMs)
        this.#dirty.add(path)
    }
    await looker
      .ask({ do: 'survey', root, ripgrep }, (part) => {
        if (part.type !== 'part' || part.batch) return
        const names = Buffer.from(part.names.buffer, part.names.byteOffset, part.names.byteLength)
        for (let at = 0, n = 0; at < names.length; n += 3) {
          const end = names.indexOf(0, at)
          const [size = -1, mtimeMs = -1, ctimeMs = -1] = part.numbers.subarray(n, n + 3)
          look(names.toString('utf8', at, end), size, mtimeMs, ctimeMs)
          at = end + 1
        }
      })
      .finally(() => looker.close())
    for (const path of text.paths()) {
      const state = text.state(path)
      if (state && seen[state.place] === 0) this.#absent.add(path)
    }
  }

  #addFolders(path: string): void {
    for (let folder = parentOf(path); !this.#folders.has(folder); folder = parentOf(folder))
      this.#folders.add(folder)
  }

  #updateSoon(): void {
    if (this.#settle || this.#dirty.size === 0) return
    this.#settle = setTimeout(() => {
      this.#settle = undefined
      void this.#queue(() => this.#update())
    }, INDEX_LIMITS.settleMs)
    this.#settle.unref()
  }

  /** Indexes what changed, alone, as one more segment. Another process may hold the lock: then it does this work. */
  async #update(): Promise<void> {
    const { store } = this.#options
    const text = store.text()
    if (!this.#isLive || this.#dirty.size === 0 || !text) return
    if (!store.tryLock()) return this.#followWriter(text)
    if (text.staleShare > INDEX_LIMITS.rebuildShare || this.#dirty.size > DIRTY_MAX) {
      await this.#build(await this.#list([''], []))
      return this.#compare()
    }
    const small = text.segments.filter(({ files }) => files < INDEX_LIMITS.smallSegmentFiles)
    const merge = small.length > INDEX_LIMITS.smallSegments ? small : []
    const files = [...new Set([...this.#dirty, ...merge.flatMap(({ name }) => text.livePaths(name))])].sort()
    this.#touched = new Set()
    const kept = text.segments.filter((segment) => !merge.includes(segment))
    const added = await Promise.all(await this.#indexOn(this.#thread(), files))
    await store.commitText([...kept, ...added])
    if (merge.length > 0) await store.sweepText()
    const isKnown = await this.#catchUp()
    const touched = this.#touched
    this.#touched = undefined
    if (!isKnown) return
    const after = store.text()
    // What changed again meanwhile, or was too warm to trust, is looked at once more.
    for (const path of files)
      if (!touched.has(path) && after?.state(path)?.mtimeMs !== -1) this.#dirty.delete(path)
    this.#updateSoon()
  }
}

function parentOf(path: string): string {
  const at = path.lastIndexOf('/')
  return at < 0 ? '' : path.slice(0, at)
}

const isWithin = (path: string, folder: string) => path === folder || path.startsWith(`${folder}/`)

const isUtf16 = (bytes: Buffer) =>
  (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
