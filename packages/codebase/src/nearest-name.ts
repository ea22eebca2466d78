// nearest-name.ts: the known name that a misspelled one most likely means: the same letters in another case or with other signs
// between them, the beginning of it, or a few edits away.

/** Longer names are not compared letter by letter. */
const COMPARED_CHARS = 64

/** Undefined when none is near enough. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const plain = lettersOf(given.slice(0, COMPARED_CHARS))
  if (plain === '') return undefined
  const same = known.find((name) => lettersOf(name) === plain)
  if (same !== undefined) return same
  const ranked = known
    .map((name) => ({ name, edits: editsBetween(plain, lettersOf(name)) }))
    .sort((a, b) => a.edits - b.edits)
  const [best] = ranked
  if (best && best.edits <= Math.max(1, Math.floor(plain.length / 3))) return best.name
  const parts = known.filter((name) => isPart(plain, lettersOf(name)))
  return parts.length === 1 ? parts[0] : undefined
}

const lettersOf = (name: string) => name.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '')

const isPart = (a: string, b: string) => Math.min(a.length, b.length) >= 3 && (a.includes(b) || b.includes(a))

/** Levenshtein's distance. */
function editsBetween(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, n) => n)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(
        Math.min(
          (row[j] as number) + 1,
          (next[j - 1] as number) + 1,
          (row[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1),
        ),
      )
    row = next
  }
  return row[b.length] as number
}
