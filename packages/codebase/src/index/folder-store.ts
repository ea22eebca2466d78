// index/folder-store.ts: the embedded index: a folder of immutable segments and one small manifest that names them. The
// manifest is replaced in one step, so a crash at any moment leaves the old index or the new one.
import { createHash, randomBytes } from 'node:crypto'
import {
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { homedir, hostname } from 'node:os'
import { join } from 'node:path'
import { errno } from '../errors.ts'
import { INDEX_LIMITS } from '../limits.ts'
import { makeFolder, replaceFile, writeWhole } from './atomic-write.ts'
import { FolderChunks } from './folder-chunks.ts'
import { bytesInFile, packSegment, Segment } from './segment.ts'
import { SegmentSet } from './segment-set.ts'
import {
  batchBytes,
  batchFiles,
  type ChunkStore,
  type IndexStore,
  type TextBatch,
  type TextSegment,
  type VectorModel,
} from './storage.ts'

const INDEX_VERSION = 1

interface Manifest {
  readonly version: number
  readonly root: string
  /** Later segments override earlier ones. */
  readonly segments: readonly TextSegment[]
  readonly savedAt: number
}

export function defaultCacheDir(env: NodeJS.ProcessEnv = process.env): string {
  if (env['PLUGBOARD_CACHE_DIR']) return env['PLUGBOARD_CACHE_DIR']
  if (process.platform === 'darwin') return join(homedir(), 'Library', 'Caches', 'plugboard', 'codebase')
  if (process.platform === 'win32') return join(env['LOCALAPPDATA'] ?? homedir(), 'plugboard', 'codebase')
  return join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'plugboard', 'codebase')
}

export class FolderStore implements IndexStore {
  readonly place: string
  readonly #root: string
  unavailable: string | undefined
  readonly #token = randomBytes(8).toString('hex')
  #set: SegmentSet | undefined
  #seen = ''
  #added = 0
  #beat: NodeJS.Timeout | undefined

  /** `root` is the real path of the folder that is indexed. */
  constructor(cacheDir: string, root: string) {
    this.#root = root
    this.place = join(cacheDir, createHash('sha256').update(root).digest('hex').slice(0, 20))
    try {
      makeFolder(this.place)
      const probe = join(this.place, `.probe-${this.#token}`)
      writeFileSync(probe, '')
      unlinkSync(probe)
    } catch (error) {
      this.unavailable = `${this.place} cannot be written (${errno(error) ?? 'unknown error'})`
    }
  }

  #manifest(): Manifest | undefined {
    try {
      const found = JSON.parse(readFileSync(this.#manifestPath, 'utf8')) as Manifest
      return found.version === INDEX_VERSION && found.root === this.#root ? found : undefined
    } catch {
      // Missing, or not ours: there is no index yet.
      return undefined
    }
  }

  text(): SegmentSet | undefined {
    if (this.unavailable) return undefined
    const now = this.#stamp()
    if (now === this.#seen) return this.#set
    const manifest = this.#manifest()
    let next: SegmentSet | undefined
    try {
      next = manifest && SegmentSet.open(manifest.segments, (name) => this.#openSegment(name), this.#set)
    } catch {
      // A segment is missing or torn: the index is rebuilt from the files, which are the source of truth.
      next = undefined
    }
    this.#set?.closeExcept(next)
    this.#set = next
    this.#seen = now
    return next
  }

  #openSegment(name: string): Segment {
    const bytes = bytesInFile(join(this.place, name))
    try {
      return new Segment(name, bytes)
    } catch (error) {
      bytes.close()
      throw error
    }
  }

  async addText(batch: TextBatch): Promise<TextSegment> {
    const name = `${Date.now().toString(36)}-${process.pid}-${this.#token.slice(0, 6)}${this.#added++}.tri`
    const parts = packSegment(batch)
    await writeWhole(join(this.place, name), parts)
    const bytes = parts.reduce((sum, part) => sum + part.byteLength, 0)
    return { name, bytes, files: batchFiles(batch), textBytes: batchBytes(batch) }
  }

  async commitText(segments: readonly TextSegment[]): Promise<void> {
    const manifest: Manifest = { version: INDEX_VERSION, root: this.#root, segments, savedAt: Date.now() }
    replaceFile(this.#manifestPath, JSON.stringify(manifest))
  }

  /** What no manifest names: leftovers of a crash and segments that were replaced. */
  async sweepText(): Promise<void> {
    const named = new Set((this.#manifest()?.segments ?? []).map((segment) => segment.name))
    for (const name of readdirSync(this.place)) {
      if (!/\.(tri|draft)$/.test(name) || named.has(name) || this.#isYoungDraft(name)) continue
      rmSync(join(this.place, name), { force: true })
    }
  }

  /** The semantic index writes beside this one; its drafts are not leftovers while they are being written. */
  #isYoungDraft(name: string): boolean {
    const found = statSync(join(this.place, name), { throwIfNoEntry: false })
    return (
      name.endsWith('.draft') && found !== undefined && Date.now() - found.mtimeMs < INDEX_LIMITS.lockStaleMs
    )
  }

  chunks(model: VectorModel): ChunkStore {
    return new FolderChunks(this.place, this.#root, model)
  }

  tryLock(): boolean {
    if (this.unavailable) return false
    const path = join(this.place, 'writer.lock')
    for (let attempt = 0; attempt < 3; attempt++) {
      try {
        writeFileSync(path, JSON.stringify({ pid: process.pid, host: hostname(), token: this.#token }), {
          flag: 'wx',
          mode: 0o600,
        })
        this.#keepLock(path)
        return true
      } catch (error) {
        // Another process has dropped the index, folder and all.
        if (errno(error) === 'ENOENT' && this.#isMade()) continue
        if (errno(error) !== 'EEXIST') return false
      }
      const owner = readOwner(path)
      if (owner?.token === this.#token) return true
      if (!isAbandoned(path, owner)) return false
      // The process that renames it away first has removed it; what was renamed must still be what was abandoned.
      const aside = `${path}.${this.#token}.draft`
      try {
        renameSync(path, aside)
        if (readOwner(aside)?.token !== owner?.token) renameSync(aside, path)
        else unlinkSync(aside)
      } catch {
        // Another process was faster; check again.
      }
    }
    return false
  }

  #isMade(): boolean {
    try {
      makeFolder(this.place)
      return true
    } catch {
      // Then there is nothing to lock; the write reports why.
      return false
    }
  }

  unlock(): void {
    clearInterval(this.#beat)
    this.#beat = undefined
    const path = join(this.place, 'writer.lock')
    if (readOwner(path)?.token === this.#token) rmSync(path, { force: true })
  }

  bytes(): number {
    if (this.unavailable || !existsSync(this.place)) return 0
    let total = 0
    for (const name of readdirSync(this.place))
      total += statSync(join(this.place, name), { throwIfNoEntry: false })?.size ?? 0
    return total
  }

  drop(): void {
    this.#set?.closeExcept(undefined)
    this.#set = undefined
    this.#seen = ''
    rmSync(this.place, { recursive: true, force: true })
  }

  close(): void {
    this.unlock()
    this.#set?.closeExcept(undefined)
    this.#set = undefined
    this.#seen = ''
  }

  get #manifestPath(): string {
    return join(this.place, 'manifest.json')
  }

  /** Changes whenever the manifest is replaced. */
  #stamp(): string {
    const found = statSync(this.#manifestPath, { throwIfNoEntry: false, bigint: true })
    return found ? `${found.ino} ${found.mtimeNs} ${found.size}` : 'none'
  }

  #keepLock(path: string): void {
    clearInterval(this.#beat)
    this.#beat = setInterval(() => {
      const now = new Date()
      try {
        utimesSync(path, now, now)
      } catch {
        // The lock is gone; the next commit would belong to another process.
        clearInterval(this.#beat)
      }
    }, INDEX_LIMITS.lockBeatMs)
    this.#beat.unref()
  }
}

interface Owner {
  readonly pid: number
  readonly host: string
  readonly token: string
}

function readOwner(path: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Owner
  } catch {
    // Gone, or not written yet.
    return undefined
  }
}

function isAbandoned(path: string, owner: Owner | undefined): boolean {
  const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Date.now())
  if (!owner) return age > 2000
  if (age > INDEX_LIMITS.lockStaleMs) return true
  if (owner.host !== hostname()) return false
  try {
    process.kill(owner.pid, 0)
    return false
  } catch (error) {
    return errno(error) === 'ESRCH'
  }
}
