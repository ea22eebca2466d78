// unpack.ts: an untrusted zip → a folder that holds exactly what the zip says. All or nothing: the folder appears
// under its final name in one step, or not at all.
import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { lstat, mkdir, readdir, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import yauzl, { type Entry, type ZipFile } from 'yauzl'
import { Cancelled } from '../../errors.ts'
import { BUNDLE_CACHE_LIMITS, BUNDLE_LIMITS } from '../../limits.ts'
import { excerpt } from '../import/excerpt.ts'
import { crc32 } from './crc32.ts'

/** The archive must not be unpacked; `message` says what is wrong with it. */
export class ArchiveRefused extends Error {}

export type ArchiveLimits = { readonly [name in keyof typeof BUNDLE_LIMITS]: number }

export interface UnpackOptions {
  readonly signal?: AbortSignal | undefined
  readonly limits?: ArchiveLimits
  /** Called on the finished folder before it gets its final name; a throw leaves nothing behind. */
  readonly prepare?: (folder: string) => Promise<void>
  /** The SHA-256 that was approved: an archive with another one is rejected. */
  readonly wanted?: string | undefined
}

const FILE_TYPE = 0o170000
const REGULAR = 0o100000
const FOLDER = 0o040000
/** Files written at the same time. */
const WRITERS = 8
/** Files up to this size are written in one call, which is several times faster than a stream for each. */
const WHOLE_BYTES = 256 * 1024
/** A half-unpacked folder older than this was left by a crash. */
const ABANDONED_MS = 60 * 60 * 1000

/** Unpacks `archive` into `<bundles>/<sha256 of the archive>` unless it exists; returns that folder. */
export async function unpackArchive(
  archive: string,
  bundles: string,
  options: UnpackOptions = {},
): Promise<string> {
  const limits = options.limits ?? BUNDLE_LIMITS
  const info = await stat(archive)
  if (!info.isFile()) throw new ArchiveRefused('It is not a regular file.')
  if (info.size > limits.archiveBytes)
    throw new ArchiveRefused(`It is larger than ${mib(limits.archiveBytes)}.`)
  const known = join(bundles, options.wanted ?? (await hashOf(archive, options.signal)))
  if (await isFolder(known)) {
    await markUsed(known)
    return known
  }

  await mkdir(bundles, { recursive: true, mode: 0o700 })
  await sweep(bundles)
  const draft = join(bundles, `.draft-${process.pid}-${randomBytes(6).toString('hex')}`)
  await mkdir(draft, { mode: 0o700 })
  try {
    // Unpacked from a copy, so that the hashed bytes are the unpacked ones even if the file changes meanwhile.
    const copy = join(draft, 'archive.zip')
    const hash = await copyHashed(archive, copy, limits.archiveBytes, options.signal)
    if (options.wanted !== undefined && hash !== options.wanted)
      throw new ArchiveRefused('It changed since it was approved.')
    const folder = join(draft, 'content')
    await mkdir(folder, { mode: 0o700 })
    await unpackInto(copy, folder, limits, options.signal)
    await options.prepare?.(folder)
    return await moveInto(folder, join(bundles, hash))
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** How many bytes may still be read of bundles that wait for approval. */
export interface PendingBudget {
  plugins: number
  bytes: number
}

/** The archive's hash and manifest, without unpacking it. Takes the bytes that it reads from `budget`. */
export async function peekArchive(
  archive: string,
  limits: ArchiveLimits,
  budget: PendingBudget,
  signal: AbortSignal | undefined,
): Promise<{ readonly hash: string; readonly manifest: string }> {
  const info = await stat(archive)
  if (!info.isFile()) throw new ArchiveRefused('It is not a regular file.')
  budget.bytes -= info.size
  if (budget.bytes < 0 || budget.plugins-- <= 0)
    throw new ArchiveRefused(
      'The bundles that this project brings are too many or too large to look at before they are approved.',
    )
  const hash = await hashOf(archive, signal)
  const zip = await openZip(archive)
  try {
    const entries = await listEntries(zip, limits, signal)
    const entry = entries.find(({ fileName }) => fileName === 'manifest.json')
    if (!entry) throw new ArchiveRefused('There is no manifest.json in it.')
    if (entry.isEncrypted()) throw new ArchiveRefused('"manifest.json" is encrypted.')
    return { hash, manifest: (await readWhole(zip, entry, limits.manifestBytes)).toString('utf8') }
  } finally {
    zip.close()
  }
}

async function readWhole(zip: ZipFile, entry: Entry, maxBytes: number): Promise<Buffer> {
  const tooLong = new ArchiveRefused(`Its manifest is larger than ${Math.round(maxBytes / 1024)} KiB.`)
  if (entry.uncompressedSize > maxBytes) throw tooLong
  const source = await new Promise<Readable>((done, fail) => {
    zip.openReadStream(entry, (error, stream) => (error ? fail(unreadable(error)) : done(stream)))
  })
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of source) {
      bytes += (chunk as Buffer).length
      if (bytes > maxBytes) throw tooLong
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    throw error instanceof ArchiveRefused ? error : unreadable(error as Error)
  }
  return Buffer.concat(chunks)
}

async function hashOf(file: string, signal: AbortSignal | undefined): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(file, { signal })) hash.update(chunk)
  return hash.digest('hex')
}

async function copyHashed(
  from: string,
  to: string,
  maxBytes: number,
  signal: AbortSignal | undefined,
): Promise<string> {
  const hash = createHash('sha256')
  let total = 0
  const tap = tapped((chunk) => {
    total += chunk.length
    if (total > maxBytes) throw new ArchiveRefused(`It is larger than ${mib(maxBytes)}.`)
    hash.update(chunk)
  })
  await pipeline(createReadStream(from), tap, createWriteStream(to, { flags: 'wx', mode: 0o600 }), { signal })
  return hash.digest('hex')
}

/** Another process may have unpacked the same archive first; then its folder is used. */
async function moveInto(folder: string, final: string): Promise<string> {
  try {
    await rename(folder, final)
  } catch (error) {
    if (!(await isFolder(final))) throw error
  }
  return final
}

async function isFolder(path: string): Promise<boolean> {
  const info = await lstat(path).catch(() => undefined)
  return info?.isDirectory() ?? false
}

async function sweep(bundles: string): Promise<void> {
  for (const name of await readdir(bundles)) {
    if (!name.startsWith('.draft-')) continue
    const path = join(bundles, name)
    const info = await stat(path).catch(() => undefined)
    if (info && Date.now() - info.mtimeMs > ABANDONED_MS) await rm(path, { recursive: true, force: true })
  }
  await removeOldest(bundles)
}

/** A folder's date says when its bundle was last used. */
async function markUsed(folder: string): Promise<void> {
  const now = new Date()
  // A read-only cache is not swept.
  await utimes(folder, now, now).catch(() => undefined)
}

/** Keeps the cache within its limits: the least recently used go first. */
async function removeOldest(bundles: string): Promise<void> {
  const { keptBundles, keptBytes, keepMs } = BUNDLE_CACHE_LIMITS
  const folders = []
  for (const name of await readdir(bundles)) {
    if (name.startsWith('.')) continue
    const path = join(bundles, name)
    const info = await lstat(path).catch(() => undefined)
    if (info?.isDirectory()) folders.push({ path, usedMs: info.mtimeMs })
  }
  folders.sort((a, b) => b.usedMs - a.usedMs)
  let bytes = 0
  for (const [index, { path, usedMs }] of folders.entries()) {
    bytes += await sizeOf(path)
    const recent = Date.now() - usedMs < keepMs
    if (!recent && (index >= keptBundles || bytes > keptBytes))
      await rm(path, { recursive: true, force: true })
  }
}

async function sizeOf(folder: string): Promise<number> {
  let bytes = 0
  for (const item of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (item.isFile())
      bytes += (await lstat(join(item.parentPath ?? item.path, item.name)).catch(() => undefined))?.size ?? 0
  return bytes
}

async function unpackInto(
  archive: string,
  folder: string,
  limits: ArchiveLimits,
  signal: AbortSignal | undefined,
): Promise<void> {
  const zip = await openZip(archive)
  try {
    const plan = planOf(await listEntries(zip, limits, signal), limits)
    for (const path of plan.folders) await mkdir(join(folder, path), { recursive: true, mode: 0o700 })
    const budget = { left: limits.unpackedBytes }
    const queue = plan.files.values()
    let failed = false
    const worker = async () => {
      for (const file of queue) {
        if (failed) return
        if (signal?.aborted) throw new Cancelled()
        await writeEntry(zip, file, join(folder, file.path), budget, limits, signal)
      }
    }
    const guarded = () =>
      worker().catch((error: unknown) => {
        failed = true
        throw error
      })
    const ends = await Promise.allSettled(Array.from({ length: WRITERS }, guarded))
    const failure = ends.find((end) => end.status === 'rejected')
    if (failure) throw failure.reason
  } finally {
    zip.close()
  }
}

function openZip(path: string): Promise<ZipFile> {
  return new Promise((done, fail) => {
    // The library checks each entry's real size against its header, and rejects backslashes, `..` and absolute names
    // itself; safePath checks again, because everything depends on it.
    const options = { lazyEntries: true, autoClose: false, strictFileNames: true, validateEntrySizes: true }
    yauzl.open(path, options, (error, zip) => (error ? fail(unreadable(error)) : done(zip)))
  })
}

const unreadable = (error: Error) =>
  new ArchiveRefused(`It is not a readable zip file: ${excerpt(error.message.replace(/\.$/, ''))}.`)

function listEntries(
  zip: ZipFile,
  limits: ArchiveLimits,
  signal: AbortSignal | undefined,
): Promise<readonly Entry[]> {
  const tooMany = new ArchiveRefused(`It holds more than ${limits.files} files.`)
  if (zip.entryCount > limits.files) return Promise.reject(tooMany)
  return new Promise((done, fail) => {
    const entries: Entry[] = []
    zip.on('error', (error: Error) => fail(unreadable(error)))
    zip.on('end', () => done(entries))
    zip.on('entry', (entry: Entry) => {
      entries.push(entry)
      if (signal?.aborted) fail(new Cancelled())
      else if (entries.length > limits.files) fail(tooMany)
      else zip.readEntry()
    })
    zip.readEntry()
  })
}

interface PlannedFile {
  readonly path: string
  readonly entry: Entry
  readonly executable: boolean
}

interface Plan {
  /** Every folder that a file needs, or that the archive names. */
  readonly folders: ReadonlySet<string>
  readonly files: readonly PlannedFile[]
}

/** Checks every entry before the first byte is written. */
function planOf(entries: readonly Entry[], limits: ArchiveLimits): Plan {
  refuseOverlaps(entries)
  const folders = new Map<string, string>()
  const files = new Map<string, PlannedFile>()
  let claimed = 0
  for (const entry of entries) {
    const isFolderName = entry.fileName.endsWith('/')
    const path = safePath(entry.fileName)
    const mode = entry.externalFileAttributes >>> 16
    const type = mode & FILE_TYPE
    if (type !== 0 && type !== (isFolderName ? FOLDER : REGULAR))
      throw new ArchiveRefused(`"${excerpt(path)}" is neither a file nor a folder (a link or a device).`)
    if (entry.isEncrypted()) throw new ArchiveRefused(`"${excerpt(path)}" is encrypted.`)
    claimed += entry.uncompressedSize
    if (claimed > limits.unpackedBytes) throw tooLarge(limits)
    // Some file systems treat two spellings of a name as one file.
    const key = foldedName(path)
    if (isFolderName) folders.set(key, path)
    else if (files.has(key))
      throw new ArchiveRefused(`"${excerpt(path)}" is in it twice (upper and lower case count as one).`)
    else files.set(key, { path, entry, executable: (mode & 0o111) !== 0 })
  }
  for (const key of [...folders.keys(), ...files.keys()])
    for (let end = key.indexOf('/'); end !== -1; end = key.indexOf('/', end + 1))
      if (files.has(key.slice(0, end)))
        throw new ArchiveRefused(`"${excerpt(key.slice(0, end))}" is a file and a folder.`)
  for (const key of folders.keys())
    if (files.has(key)) throw new ArchiveRefused(`"${excerpt(key)}" is a file and a folder.`)
  if (!files.has('manifest.json')) throw new ArchiveRefused('There is no manifest.json in it.')
  const needed = [...files.values()].map(({ path }) => dirname(path))
  return { folders: new Set([...folders.values(), ...needed]), files: [...files.values()] }
}

const foldedName = (path: string) => path.normalize('NFC').toLowerCase()

/** Overlapping entries are how a small archive expands without end. */
function refuseOverlaps(entries: readonly Entry[]): void {
  const LOCAL_HEADER_BYTES = 30
  const spans = entries
    .map((entry) => ({
      start: entry.relativeOffsetOfLocalHeader,
      end:
        entry.relativeOffsetOfLocalHeader + LOCAL_HEADER_BYTES + entry.fileNameLength + entry.compressedSize,
    }))
    .sort((a, b) => a.start - b.start)
  let end = 0
  for (const span of spans) {
    if (span.start < end) throw new ArchiveRefused('Its entries overlap.')
    end = span.end
  }
}

/** No file system accepts a longer one, and checking it would take long. */
const MAX_NAME = 1024

/** The name as a path below the folder, or an error. */
function safePath(name: string): string {
  if (name.length > MAX_NAME) throw new ArchiveRefused(`"${excerpt(name)}" is too long a name.`)
  const path = name.replace(/\/+$/, '')
  const parts = path.split('/')
  const bad =
    path === '' ||
    name.startsWith('/') ||
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for control characters, NUL above all.
    /[\\:*?"<>|\u0000-\u001f\u007f]/.test(name) ||
    parts.some((part) => part === '' || part === '.' || part === '..' || /[. ]$/.test(part) || isDevice(part))
  if (bad) throw new ArchiveRefused(`"${excerpt(name)}" is not a name that may be unpacked.`)
  return path
}

/** Names that Windows reserves for devices in any folder. */
const isDevice = (part: string) => /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?$/i.test(part)

async function writeEntry(
  zip: ZipFile,
  { entry, executable }: PlannedFile,
  target: string,
  budget: { left: number },
  limits: ArchiveLimits,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (entry.fileName === 'manifest.json' && entry.uncompressedSize > limits.manifestBytes)
    throw new ArchiveRefused(`Its manifest is larger than ${Math.round(limits.manifestBytes / 1024)} KiB.`)
  const flags = { flags: 'wx', mode: executable ? 0o700 : 0o600 }
  const source = await new Promise<Readable>((done, fail) => {
    zip.openReadStream(entry, (error, stream) => (error ? fail(unreadable(error)) : done(stream)))
  })
  // What counts is the actual size, not the header's.
  let sum = 0
  const spend = (chunk: Buffer) => {
    sum = crc32(chunk, sum)
    budget.left -= chunk.length
    if (budget.left < 0) throw tooLarge(limits)
  }
  try {
    if (entry.uncompressedSize <= WHOLE_BYTES) {
      const chunks: Buffer[] = []
      for await (const chunk of source) {
        spend(chunk)
        chunks.push(chunk)
      }
      await writeFile(target, Buffer.concat(chunks), { flag: flags.flags, mode: flags.mode })
    } else await pipeline(source, tapped(spend), createWriteStream(target, flags), { signal })
  } catch (error) {
    // Errors without a system call come from inflating or from the size check: a fault of the archive, not the disk.
    const isSystem = typeof (error as NodeJS.ErrnoException).syscall === 'string'
    if (error instanceof ArchiveRefused || isSystem || signal?.aborted) throw error
    throw unreadable(error as Error)
  }
  if (sum !== entry.crc32) throw new ArchiveRefused(`"${excerpt(entry.fileName)}" is damaged.`)
}

/** Passes every chunk on after calling `see`; a throw in `see` ends the stream. */
function tapped(see: (chunk: Buffer) => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _encoding, next) {
      try {
        see(chunk)
        next(null, chunk)
      } catch (error) {
        next(error as Error)
      }
    },
  })
}

const tooLarge = (limits: ArchiveLimits) =>
  new ArchiveRefused(`Unpacked it would be larger than ${mib(limits.unpackedBytes)}.`)

const mib = (bytes: number) => `${Math.round(bytes / 1024 / 1024)} MiB`
