// adopt.ts: replaces a client's servers by one entry that leads here, and undoes it byte for byte. What the file was is
// kept in the user's state folder until then.
import { createHash } from 'node:crypto'
import { mkdir, readFile, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { InvalidInput } from '../errors.ts'
import { realTarget, withFileLock, writeFileAtomic } from '../files/index.ts'
import type { Host } from '../host.ts'
import { isObject } from '../json.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { ADOPTABLE, type AdoptableClient } from './adopt/clients.ts'
import { type FilePlan, planFile } from './adopt/plan.ts'
import { hashOf } from './fingerprints.ts'
import type { ImportNote, WrittenEntry } from './import/index.ts'
import type { Configuration } from './load.ts'
import { addServer, removeServer } from './manage.ts'
import { isProjectFile } from './project.ts'
import { stateFolder } from './sources.ts'

export { isOwnEntry, ownEntry } from './adopt/own-entry.ts'

export interface AdoptedServer {
  /** In the client's file, and in ours: another name if ours has a different server of that name. */
  readonly original: string
  readonly name: string
  readonly entry: WrittenEntry
  readonly outcome: 'added' | 'known'
}

export interface AdoptedFile {
  readonly file: string
  readonly before: string
  readonly after: string
  readonly servers: readonly AdoptedServer[]
  readonly left: readonly string[]
}

export interface Adoption {
  readonly client: { readonly id: string; readonly title: string }
  readonly files: readonly AdoptedFile[]
  readonly notes: readonly ImportNote[]
  /** What it has to be undone with; missing in a plan. */
  readonly record?: string
}

export function findAdoptable(id: string | undefined): AdoptableClient {
  const client = ADOPTABLE.find((each) => each.id === id)
  if (client) return client
  throw new InvalidInput(id === undefined ? 'CLIENT is missing.' : `There is no client "${id}".`, {
    hint: `Choose one of ${ADOPTABLE.map((each) => each.id).join(', ')}.`,
  })
}

/** What adopting would do. Changes nothing. */
export async function planAdoption(
  configuration: Configuration,
  client: AdoptableClient,
  own: WrittenEntry,
): Promise<Adoption> {
  const files: AdoptedFile[] = []
  const notes: ImportNote[] = []
  const names = ourEntries(configuration)
  for (const path of clientFiles(client, configuration)) {
    const bytes = await readOptional(path)
    if (bytes === undefined) continue
    const before = textOf(bytes, path)
    const plan = planFile(client, before, own, path)
    if (!plan) continue
    notes.push(...plan.notes)
    files.push({
      file: path,
      before,
      after: plan.after,
      left: plan.left,
      servers: named(plan, client, names),
    })
  }
  return { client: { id: client.id, title: client.title }, files, notes }
}

/** Files of the user only: one of a project belongs to everyone who works on it. */
export function clientFiles(client: AdoptableClient, { place }: Configuration): readonly string[] {
  return client
    .files({ cwd: place.root, home: place.home, platform: place.platform, env: place.env })
    .filter(
      ({ path, scope }) => scope === 'user' && (!isProjectFile(path, place) || place.root === place.home),
    )
    .map(({ path }) => path)
}

export async function adopt(
  configuration: Configuration,
  host: Host,
  client: AdoptableClient,
  own: WrittenEntry,
): Promise<Adoption> {
  return locked(configuration, client, async () => {
    const plan = await planAdoption(configuration, client, own)
    if (plan.files.length === 0) return plan
    const servers = plan.files.flatMap((file) => file.servers).filter(({ outcome }) => outcome === 'added')
    // The record first: a crash after any later step leaves something to undo.
    const record = recordFile(configuration, client)
    const steps = await readSteps(record)
    const step: Step = {
      at: new Date(host.now()).toISOString(),
      files: plan.files.map(({ file, before, after }) => ({ file, before, afterHash: sha256(after) })),
      added: servers.map(({ name, entry }) => ({ name, hash: hashOf(entry) })),
    }
    await writeSteps(record, [...steps, step])
    for (const { name, entry } of servers)
      await addServer(configuration, host, { name, written: entry, scope: 'user', keep: true })
    for (const { file, before, after } of plan.files) await replace(file, before, after)
    return { ...plan, record }
  })
}

export interface Undone {
  readonly client: { readonly id: string; readonly title: string }
  readonly files: readonly string[]
  readonly removed: readonly string[]
  /** Servers that the user changed since; they stay in our file. */
  readonly kept: readonly string[]
}

/** Takes back the last adoption of the client. */
export async function undoAdoption(configuration: Configuration, client: AdoptableClient): Promise<Undone> {
  return locked(configuration, client, async () => {
    const record = recordFile(configuration, client)
    const steps = await readSteps(record)
    const step = steps.at(-1)
    if (!step)
      throw new InvalidInput(`${client.title} was not adopted, so there is nothing to undo.`, {
        hint: `\`plugboard adopt ${client.id} --dry-run\` shows what adopting would change.`,
      })
    const restored: string[] = []
    for (const { file, before, afterHash } of step.files) {
      const now = (await readOptional(file))?.toString('utf8')
      if (now !== before && (now === undefined || sha256(now) !== afterHash))
        throw new InvalidInput(`${file} has changed since it was adopted, so it is left as it is.`, {
          hint: `What it was is in ${record}. Put back by hand what you need, then remove that file.`,
        })
    }
    for (const { file, before } of step.files) {
      const now = (await readOptional(file))?.toString('utf8') ?? ''
      if (now !== before) await replace(file, now, before)
      restored.push(file)
    }
    const { removed, kept } = await removeAdded(configuration, step)
    await writeSteps(record, steps.slice(0, -1))
    return { client: { id: client.id, title: client.title }, files: restored, removed, kept }
  })
}

async function removeAdded(
  configuration: Configuration,
  { added }: Step,
): Promise<{ removed: string[]; kept: string[] }> {
  const ours = ourEntries(configuration)
  const removed: string[] = []
  const kept: string[] = []
  for (const { name, hash } of added) {
    const entry = ours.get(name)
    if (entry === undefined) continue
    if (hashOf(entry) !== hash) kept.push(name)
    else {
      await removeServer(configuration, name, 'user')
      removed.push(name)
    }
  }
  return { removed, kept }
}

function named(plan: FilePlan, client: AdoptableClient, ours: Map<string, unknown>): AdoptedServer[] {
  return plan.taken.map(({ original, name, entry }) => {
    const candidates = [
      name,
      `${name}-${client.id}`,
      ...Array.from({ length: 98 }, (_, i) => `${name}-${client.id}-${i + 2}`),
    ]
    const chosen = candidates.find(
      (each) => !ours.has(each) || isDeepStrictEqual(plain(ours.get(each)), plain(entry)),
    )
    if (chosen === undefined) throw new InvalidInput(`There are too many servers named like "${name}".`)
    const outcome = ours.has(chosen) ? 'known' : 'added'
    ours.set(chosen, entry)
    return { original, name: chosen, entry, outcome }
  })
}

/** Our own user file's entries, as written. */
function ourEntries({ resolutions }: Configuration): Map<string, unknown> {
  const entries = new Map<string, unknown>()
  for (const { name, contenders } of resolutions.values())
    for (const { definition } of contenders)
      if (definition.source.id === 'user') entries.set(name, definition.written)
  return entries
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null))

interface Step {
  readonly at: string
  readonly files: readonly { readonly file: string; readonly before: string; readonly afterHash: string }[]
  readonly added: readonly { readonly name: string; readonly hash: string }[]
}

function recordFile({ place }: Configuration, client: AdoptableClient): string {
  return join(stateFolder(place), 'adopted', `${client.id}.json`)
}

async function readSteps(file: string): Promise<readonly Step[]> {
  const bytes = await readOptional(file)
  if (bytes === undefined) return []
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    if (isObject(value) && Array.isArray(value['steps'])) return value['steps'] as readonly Step[]
  } catch {
    // Told below.
  }
  throw new InvalidInput(`${file}, which keeps what was adopted, cannot be read.`, {
    hint: 'Move it away; the files it was about stay as they are.',
  })
}

async function writeSteps(file: string, steps: readonly Step[]): Promise<void> {
  if (steps.length === 0) return unlink(file)
  // It holds what the client's file held, secrets included.
  await writeFileAtomic(file, `${JSON.stringify({ steps }, undefined, 2)}\n`, { mode: 0o600, dirMode: 0o700 })
}

async function locked<T>(
  configuration: Configuration,
  client: AdoptableClient,
  work: () => Promise<T>,
): Promise<T> {
  const record = recordFile(configuration, client)
  await mkdir(join(record, '..'), { recursive: true, mode: 0o700 })
  const wait = { waitMs: CONFIG_LIMITS.lockWaitMs, staleMs: CONFIG_LIMITS.lockStaleMs }
  return withFileLock(record, wait, work)
}

/** Writes the file only if it is still what was read. */
async function replace(file: string, expected: string, text: string): Promise<void> {
  const now = (await readOptional(file))?.toString('utf8') ?? ''
  if (now !== expected)
    throw new InvalidInput(`${file} was changed meanwhile, so it is left as it is.`, { hint: 'Try again.' })
  await writeFileAtomic(await realTarget(file), text, { mode: 0o600 })
}

function textOf(bytes: Buffer, file: string): string {
  if (bytes.length > CONFIG_LIMITS.fileBytes) throw new InvalidInput(`${file} is too large to be adopted.`)
  const text = bytes.toString('utf8')
  if (!Buffer.from(text, 'utf8').equals(bytes))
    throw new InvalidInput(`${file} is not UTF-8, so it cannot be edited without changing other bytes.`, {
      hint: 'Save it as UTF-8 first; nothing was changed.',
    })
  return text
}

async function readOptional(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new InvalidInput(`${file} could not be read (${code}).`, { cause: error })
  }
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
