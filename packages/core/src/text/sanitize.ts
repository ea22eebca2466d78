// sanitize.ts: makes untrusted text safe to show: to a model, in a terminal, in a log. It removes what is invisible
// or too long; tools/tool-poisoning.ts reports what that was.
import { TOOL_LIMITS } from '../limits.ts'

/** Escape sequences of terminals: CSI, OSC (with its payload) and the two-character ones. */
const ANSI = new RegExp(
  [
    String.raw`(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]`,
    String.raw`\u001b\][^\u0007\u001b]{0,4096}(?:\u0007|\u001b\\)?`,
    String.raw`\u001b[ -/]*[0-~]?`,
  ].join('|'),
  'g',
)
const CONTROL = /(?![\n\t])\p{Cc}/gu
/** Characters that reorder the text around them. */
export const BIDI = /\p{Bidi_Control}/gu
/** Characters without a glyph: zero width, fillers, tags, variation selectors, and unassigned ones. */
export const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\ufff9-\ufffb]/gu
/** Joiners and selectors inside emoji; they stay where they follow one. */
const EMOJI_JOINT =
  /([\p{Extended_Pictographic}\p{Emoji_Modifier}])(\ufe0f\u200d(?=\p{Extended_Pictographic})|\u200d(?=\p{Extended_Pictographic})|\ufe0f)/gu
const LONE_SURROGATE = /\p{Surrogate}/gu

/**
 * Removes escape sequences, control, bidi and invisible characters; newlines and tabs stay.
 *
 * @example
 * console.log(cleanText('\u001b[31mred\u001b[0m')) // red
 */
export function cleanText(text: string): string {
  // Nearly every text is plain, and one test is enough for those.
  if (/^[\n\t\x20-\x7e]*$/.test(text)) return text
  return text
    .replace(/\r\n?|[\u2028\u2029\u0085]/g, '\n')
    .replace(ANSI, '')
    .replace(CONTROL, '')
    .replace(BIDI, '')
    .replace(EMOJI_JOINT, (_, emoji: string, joint: string) => emoji + (PLACEHOLDERS[joint] ?? ''))
    .replace(INVISIBLE, '')
    .replace(/[\ue0f0-\ue0f2]/g, (mark) => JOINTS[mark] ?? '')
    .replace(LONE_SURROGATE, '\ufffd')
}

/** Private-use characters replace emoji joiners while everything invisible is removed. */
const PLACEHOLDERS: Readonly<Record<string, string>> = {
  '\ufe0f': '\ue0f0',
  '\u200d': '\ue0f1',
  '\ufe0f\u200d': '\ue0f2',
}
const JOINTS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(PLACEHOLDERS).map(([joint, mark]) => [mark, joint]),
)

/**
 * The text in one line, for names and titles.
 *
 * @example
 * console.log(cleanLine('two\nlines', 20)) // two lines
 */
export function cleanLine(text: string, maxChars: number): string {
  return cutText(
    cleanText(text.slice(0, maxChars * 4))
      .replace(/\s+/g, ' ')
      .trim(),
    maxChars,
    '…',
  )
}

/** The parts of a tool that can replace a description that its server left out. */
export interface NamedTool {
  readonly name: string
  readonly title?: string | undefined
}

/** `listOpenIssues`, `list_open-issues` → `List open issues.`: better than nothing, and only what the name says. */
export function describeByName({ name, title }: NamedTool): string {
  const words = cleanLine(title?.trim() ? title : name, 200)
    .replace(/([\p{Ll}\d])(\p{Lu})/gu, '$1 $2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replace(/[_./:-]+/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
    .split(' ')
    // Words of a name are lower-case, except abbreviations.
    .map((word) => (/^\p{Lu}[\p{Ll}\d]+$/u.test(word) ? word.toLowerCase() : word))
    .join(' ')
  const [first = ''] = words
  return words === ''
    ? 'A tool without a description.'
    : `${first.toUpperCase()}${words.slice(first.length)}.`
}

/** What the model reads about a tool: clean, and at most 2048 characters with the cut marked. */
export function describeTool(description: unknown, tool?: NamedTool): string {
  const text = readable(description)
  return text === '' && tool ? describeByName(tool) : text
}

function readable(description: unknown): string {
  if (typeof description !== 'string') return ''
  const text = cleanText(description.slice(0, TOOL_LIMITS.descriptionReadChars)).trim()
  if (text.length <= TOOL_LIMITS.descriptionChars && description.length <= TOOL_LIMITS.descriptionReadChars)
    return text
  return cutText(text, TOOL_LIMITS.descriptionChars, `… [cut, ${description.length} characters in all]`)
}

/** Cuts at a word, never inside a surrogate pair; the mark is part of the length. */
export function cutText(text: string, maxChars: number, mark: string): string {
  if (text.length <= maxChars) return text
  const room = Math.max(0, maxChars - mark.length)
  let end = room
  const space = Math.max(text.lastIndexOf(' ', room), text.lastIndexOf('\n', room))
  if (space > room * 0.8) end = space
  if (end > 0 && isHighSurrogate(text.charCodeAt(end - 1))) end--
  return text.slice(0, end) + mark
}

export function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}
