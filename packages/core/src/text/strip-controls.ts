// strip-controls.ts: makes text from another program's file safe to show: nothing in it moves the cursor, changes colours
// or reverses the text direction.

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** Control, format and bidirectional characters by their code points. */
export function printable(text: string): string {
  return text.replace(INVISIBLE, (char) => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`)
}
