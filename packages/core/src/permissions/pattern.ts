// pattern.ts: names as rules spell them, and `*` in them. Not a regular expression, so no pattern can be slow.

/** Does `text` fit `pattern`, where `*` stands for anything? */
export function fitsGlob(pattern: string, text: string): boolean {
  const parts = pattern.split('*')
  const first = parts[0] ?? ''
  if (parts.length === 1) return pattern === text
  const last = parts[parts.length - 1] ?? ''
  if (!text.startsWith(first) || !text.endsWith(last) || text.length < first.length + last.length)
    return false
  let at = first.length
  const end = text.length - last.length
  for (const part of parts.slice(1, -1)) {
    const found = text.indexOf(part, at)
    if (found < 0 || found + part.length > end) return false
    at = found + part.length
  }
  return true
}

/** A server's or a tool's name in the characters that every provider accepts; rules are written with them too. */
export function ruleSpelling(part: string): string {
  return part.replace(/[^A-Za-z0-9_-]/g, '_') || '_'
}
