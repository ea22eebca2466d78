// differences.ts: where two JSON values differ, by path. Pure and bounded.

export interface Difference {
  readonly path: string
  /** Undefined where one of them has no such member. */
  readonly before: unknown
  readonly after: unknown
}

const MOST = 200
const DEPTH = 40

export function differences(before: unknown, after: unknown): readonly Difference[] {
  const found: Difference[] = []
  compare(before, after, '', 0, found)
  return found
}

function compare(before: unknown, after: unknown, path: string, depth: number, found: Difference[]): void {
  if (Object.is(before, after) || found.length >= MOST) return
  const isPair = isContainer(before) && isContainer(after) && Array.isArray(before) === Array.isArray(after)
  if (!isPair || depth > DEPTH) {
    found.push({ path: path === '' ? '(all)' : path, before, after })
    return
  }
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)]))
    compare(before[key], after[key], pathTo(path, key, Array.isArray(before)), depth + 1, found)
}

function pathTo(path: string, key: string, isItem: boolean): string {
  if (isItem) return `${path}[${key}]`
  const step = /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key)
  return path === '' ? step : `${path}.${step}`
}

function isContainer(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}
