// escape-controls.ts: makes untrusted text visible: what a terminal would execute, and what no reader would see, becomes an
// escape such as `\u202e`. It removes nothing. question-text.ts does cutting and layout.

/** C0, C1, format and bidi characters, separators, lone surrogates, and everything without a glyph. */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gu
/** Besides those: spaces that are not the space, and the empty Braille pattern. */
const HIDDEN_OR_BLANK =
  /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}\u2800]|(?! )\p{Zs}/gu
/** The joiner and the selector inside an emoji sequence: without them one emoji would become several. */
const EMOJI_JOINT =
  /([\p{Extended_Pictographic}\p{Emoji_Modifier}]\ufe0f?)\u200d(?=\p{Extended_Pictographic})|(\p{Extended_Pictographic})\ufe0f/gu
const PLAIN = /^[\n\t\x20-\x7e]*$/
const HAS_JOINT = /[\u200d\ufe0f]/

/** Text for a terminal: line ends and tabs stay, and so do emoji joiners. */
export function visible(text: string): string {
  // Nearly every text is plain, and one test is enough for those.
  if (PLAIN.test(text)) return text
  const lines = text.replaceAll('\r\n', '\n')
  if (!HAS_JOINT.test(lines)) return lines.replace(HIDDEN, shown)
  let result = ''
  let from = 0
  for (const match of lines.matchAll(EMOJI_JOINT)) {
    const end = match.index + match[0].length
    // The emoji itself hides nothing, and its joiner belongs there.
    result += lines.slice(from, match.index).replace(HIDDEN, shown) + match[0]
    from = end
  }
  return result + lines.slice(from).replace(HIDDEN, shown)
}

/**
 * A text as a value to review: in quotation marks, in one line, every character that could be overlooked as an
 * escape. The output is JSON, so that nothing in it can be taken for anything else.
 */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(HIDDEN_OR_BLANK, escapeOf)
}

/** One line of a longer text, without quotation marks. A backslash that looks like an escape is doubled. */
export function exactLine(line: string): string {
  return line
    .replace(/\\(?=[utr\\])/g, '\\\\')
    .replace(HIDDEN_OR_BLANK, (char) => SHORT[char] ?? escapeOf(char))
}

/** A name unchanged where it is plain, quoted where it is not. */
export function nameText(name: string): string {
  return /^[A-Za-z0-9_@$][\w@$./:+-]{0,127}$/.test(name) ? name : quoted(name)
}

/** JSON with every hidden character as an escape: the values are the same. Line ends are those between values. */
export function visibleJson(json: string): string {
  return PLAIN.test(json) ? json : json.replace(HIDDEN, (char) => (char === '\n' ? char : escapeOf(char)))
}

const SHORT: Readonly<Record<string, string>> = { '\t': '\\t', '\r': '\\r' }

function shown(char: string): string {
  return char === '\n' || char === '\t' ? char : escapeOf(char)
}

/** By UTF-16 unit, as in JSON. */
function escapeOf(char: string): string {
  let text = ''
  for (let at = 0; at < char.length; at++) text += `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`
  return text
}
