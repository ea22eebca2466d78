// semantic/embedding-priority.ts: which files get vectors first: source before other text, recently edited ones, then those a
// search is likely to hit. Names decide nothing: files that are otherwise equal are spread over the tree.
import { languageOf } from '../chunks/languages.ts'
import { termKey } from './terms.ts'

export interface FileFacts {
  readonly path: string
  readonly size: number
  readonly mtimeMs: number
}

const HOUR_MS = 3_600_000
/** Tests, examples, vendored code and generated files are searched for less. */
const ASIDE =
  /(?:^|\/)(?:tests?|__tests__|spec|specs|e2e|fixtures?|mocks?|__mocks__|examples?|samples?|demos?|bench(?:marks?)?|vendor|third_party|node_modules|generated|migrations|locales?|docs?)\/|[._-](?:test|spec|stories|min|generated|pb|d)\.[^/]*$|(?:^|\/)test_[^/]*$/i
/** A file of this size has content and is quickly read. */
const GOOD_BYTES = 8 * 1024

export function likelyFirst(files: readonly FileFacts[]): string[] {
  const newest = files.reduce((latest, { mtimeMs }) => Math.max(latest, mtimeMs), 0)
  return files
    .map((file) => ({ path: file.path, rank: rankOf(file, newest) }))
    .sort((a, b) => {
      for (let n = 0; n < a.rank.length; n++) {
        const difference = (a.rank[n] as number) - (b.rank[n] as number)
        if (difference !== 0) return difference
      }
      return a.path < b.path ? -1 : 1
    })
    .map(({ path }) => path)
}

/** Compared from the first number on; less is sooner. */
function rankOf({ path, size, mtimeMs }: FileFacts, newest: number): readonly number[] {
  const hours = Math.max(0, newest - mtimeMs) / HOUR_MS
  return [
    languageOf(path).grammar ? 0 : 1,
    // In doubling steps: the files of one checkout are equally new, whatever the order they were written in.
    Math.floor(Math.log2(1 + hours)),
    ASIDE.test(path) ? 1 : 0,
    // The nearer to the top, the more depends on it; very small and very large files are worth less for their cost.
    path.split('/').length + Math.abs(Math.round(Math.log2(Math.max(1, size) / GOOD_BYTES) / 2)),
    termKey(path),
  ]
}
