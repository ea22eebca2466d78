// printable.ts: words out of a file that somebody else wrote, made safe to show: nothing in them moves the cursor,
// changes colours or turns the direction of the text.

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Control, format and bidirectional characters by their code points. */
export function printable(text: string): string {
  return text.replace(INVISIBLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
}
