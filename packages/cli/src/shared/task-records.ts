// task-records.ts: the tasks that calls left behind: one small file each in the state folder, readable by the user only, so that a
// later command finds the task again. What a record says is checked before it is used.
import { createHash, randomBytes } from 'node:crypto'
import { readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { stateFolder } from '@plugboard/core/config'
import { readTextFile, writeFileAtomic } from '@plugboard/core/files'
import type { Host } from '@plugboard/core/host'
import { isObject } from '@plugboard/core/json'

/** A task that a call became. */
export interface TaskRecord {
  /** By which the user names it. */
  readonly id: string
  readonly server: string
  readonly tool: string
  /** The server's own id. */
  readonly taskId: string
  /** Of the server's entry: another server of the same name does not get the task. */
  readonly entry: string
  readonly cwd: string
  /** Milliseconds since the epoch. */
  readonly startedAt: number
  /** When the server may forget it; left out where it does not say. */
  readonly expiresAt?: number
}

const KEPT = 100
/** A task without a limit of its own is forgotten after this. */
const KEEP_MS = 7 * 24 * 3_600_000
const RECORD_BYTES = 16_384
const ID = /^[0-9a-f]{8}$/

export class TaskRecords {
  readonly #host: Host
  readonly #folder: string

  constructor(host: Host) {
    this.#host = host
    this.#folder = join(stateFolder(host), 'tasks')
  }

  async add(record: Omit<TaskRecord, 'id' | 'startedAt'>): Promise<TaskRecord> {
    const made = { id: randomBytes(4).toString('hex'), startedAt: this.#host.now(), ...record }
    const text = `${JSON.stringify({ version: 1, ...made })}\n`
    await writeFileAtomic(this.#file(made.id), text, { mode: 0o600, dirMode: 0o700, noFollow: true })
    const [, ...older] = [...(await this.list())].reverse()
    for (const { id } of older.slice(KEPT - 1)) await this.remove(id)
    return made
  }

  /** The oldest first. Those that are over by their own limit are removed. */
  async list(): Promise<readonly TaskRecord[]> {
    const names = await readdir(this.#folder).catch(() => [])
    const ids = names.flatMap((name) =>
      name.endsWith('.json') && ID.test(name.slice(0, -5)) ? [name.slice(0, -5)] : [],
    )
    const found: TaskRecord[] = []
    for (const id of ids.slice(0, KEPT * 10)) {
      const record = await this.find(id)
      if (record) found.push(record)
      else await this.remove(id)
    }
    return found.sort((a, b) => a.startedAt - b.startedAt)
  }

  /** Undefined when there is none, or it has expired. */
  async find(id: string): Promise<TaskRecord | undefined> {
    if (!ID.test(id)) return undefined
    const outcome = await readTextFile(this.#file(id), RECORD_BYTES)
    const record = outcome.kind === 'text' ? parsed(outcome.text) : undefined
    if (record?.id !== id) return undefined
    const until = Math.min(record.expiresAt ?? Number.POSITIVE_INFINITY, record.startedAt + KEEP_MS)
    return until > this.#host.now() ? record : undefined
  }

  async remove(id: string): Promise<void> {
    if (ID.test(id)) await unlink(this.#file(id)).catch(() => undefined)
  }

  #file(id: string): string {
    return join(this.#folder, `${id}.json`)
  }
}

/** What a record keeps of a server's entry. */
export function entryHash({ signature }: { readonly signature: string }): string {
  return createHash('sha256').update(signature).digest('hex')
}

function parsed(text: string): TaskRecord | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(value)) return undefined
  const { id, server, tool, taskId, entry, cwd, startedAt, expiresAt } = value
  const texts = { id, server, tool, taskId, entry, cwd }
  if (!Object.values(texts).every((one) => typeof one === 'string') || typeof startedAt !== 'number')
    return undefined
  // Each was found to be a text above.
  const record = { ...texts, startedAt } as Omit<TaskRecord, 'expiresAt'>
  return { ...record, ...(typeof expiresAt === 'number' && { expiresAt }) }
}
