// spent-ids.ts: ids that must not be used again although their seal is still good: sessions that their clients ended, and
// questions whose answers were passed on. Kept in memory and, for the next process, in a file that is only appended to.
import { appendFile, mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { readTextFile, writeFileAtomic } from '@plugboard/core/files'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'

/** Where it is remembered that an id was used up. */
export interface SpentRecord {
  /** False while nothing can be recorded for other processes. */
  readonly isDurable: boolean
  has(id: string): Promise<boolean>
  /** True when it was recorded, and where several processes share the record, by this one. */
  add(id: string, until: number): Promise<boolean>
}

const FILE_BYTES = 64 * 1024 * 1024

/** Ids that may be used once, in this process and its file. */
export class SpentIds implements SpentRecord {
  readonly #file: string | undefined
  readonly #now: () => number
  /** By id, when it would have expired anyway. */
  readonly #until = new Map<string, number>()
  #seen = ''
  readonly #failed: (error: unknown) => void
  #isDurable = true

  /** `failed` is told when the file can no longer be written, once until it can again. */
  constructor(
    file?: string,
    now: () => number = () => Date.now(),
    failed: (error: unknown) => void = () => undefined,
  ) {
    this.#file = file
    this.#now = now
    this.#failed = failed
  }

  /** False while the file cannot be written: what is added is then unknown to the next process. */
  get isDurable(): boolean {
    return this.#isDurable
  }

  /** Reads what earlier processes left, and writes it anew without what has expired. */
  async open(): Promise<this> {
    await this.#read()
    const lines = [...this.#until].map(([id, until]) => `${id} ${until}\n`)
    await this.#write(async (file) => {
      if (lines.length > 0) await writeFileAtomic(file, lines.join(''), { mode: 0o600, dirMode: 0o700 })
      else await append(file, '')
    })
    return this
  }

  /** True when the next process will know it too. */
  async add(id: string, until: number): Promise<boolean> {
    this.#keep(id, until)
    return await this.#write((file) => append(file, `${id} ${until}\n`))
  }

  async #write(work: (file: string) => Promise<void>): Promise<boolean> {
    if (this.#file === undefined) return true
    try {
      await work(this.#file)
      this.#isDurable = true
    } catch (error) {
      if (this.#isDurable) this.#failed(error)
      this.#isDurable = false
    }
    return this.#isDurable
  }

  /** Another process on the same folder may have written since. */
  async has(id: string): Promise<boolean> {
    if (!this.#isKept(id)) await this.#read()
    return this.#isKept(id)
  }

  #isKept(id: string): boolean {
    return (this.#until.get(id) ?? 0) > this.#now()
  }

  async #read(): Promise<void> {
    if (this.#file === undefined) return
    const info = await stat(this.#file).catch(() => undefined)
    const mark = info ? `${info.ino} ${info.size} ${info.mtimeMs}` : ''
    if (mark === this.#seen) return
    this.#seen = mark
    const outcome = await readTextFile(this.#file, FILE_BYTES)
    if (outcome.kind !== 'text') return
    const now = this.#now()
    for (const line of outcome.text.split('\n')) {
      const [id, until] = line.split(' ')
      if (id && Number(until) > now) this.#keep(id, Number(until))
    }
  }

  /** The oldest go first when there are too many. */
  #keep(id: string, until: number): void {
    this.#until.delete(id)
    this.#until.set(id, until)
    if (this.#until.size <= GATEWAY_LIMITS.spentIds) return
    const [oldest] = this.#until.keys()
    if (oldest !== undefined) this.#until.delete(oldest)
  }
}

async function append(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  await appendFile(file, text, { mode: 0o600 })
}
