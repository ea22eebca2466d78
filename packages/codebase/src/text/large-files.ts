// text/large-files.ts: how many files are too large to search, where there is no index that keeps the count. Counted now and
// then, not with every search.
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { FILE_LIMITS, INDEX_LIMITS } from '../limits.ts'

export class LargeFiles {
  readonly #root: string
  readonly #list: (most: number) => Promise<readonly string[]>
  #known: { readonly until: number; readonly count: Promise<number> } | undefined

  /** `list` names a bounded number of the files that count. */
  constructor(root: string, list: (most: number) => Promise<readonly string[]>) {
    this.#root = root
    this.#list = list
  }

  count(): Promise<number> {
    const now = Date.now()
    if (!this.#known || now >= this.#known.until)
      this.#known = { until: now + FILE_LIMITS.largeCountMs, count: this.#look().catch(() => 0) }
    return this.#known.count
  }

  /** For a big tree counting would take too long. */
  async #look(): Promise<number> {
    const names = await this.#list(INDEX_LIMITS.minFiles)
    if (names.length >= INDEX_LIMITS.minFiles) return 0
    const size = (name: string) => lstatSync(join(this.#root, name), { throwIfNoEntry: false })?.size ?? 0
    return names.filter((name) => size(name) > FILE_LIMITS.searchBytes).length
  }
}
