// excerpt.ts: text from another program's file, made safe for a message on a terminal.

/** Control, invisible and direction-changing characters, which could rewrite the line they stand in. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern looks for them.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g
const MAX = 200

export function excerpt(text: string): string {
  const cut = text.length > MAX ? `${text.slice(0, MAX)}…` : text
  return cut.replace(UNSAFE, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
