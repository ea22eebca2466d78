// nearest.ts: which known word a mistyped one was meant to be. Pure.

/** The known word within one or two typos; in short words one typo already makes another word. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const typed = word.toLowerCase()
  const typos = typed.length < 4 ? 1 : 2
  let best: { word: string; typos: number } | undefined
  for (const one of known) {
    const away = distance(one.toLowerCase(), typed)
    if (away <= typos && away < (best?.typos ?? Number.POSITIVE_INFINITY)) best = { word: one, typos: away }
  }
  return best?.word
}

const FAR = 3

/** Edit distance where a swap of two letters is one typo. Words that differ much in length are far apart. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) >= FAR) return FAR
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? FAR) + 1 : FAR
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced, swapped))
    }
    before = row
    row = next
  }
  return row[b.length] ?? FAR
}
