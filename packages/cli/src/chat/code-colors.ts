// code-colors.ts: syntax colour for code in answers: comments, texts, numbers and keywords of the common languages. One
// scanner for all of them: it colours what they share, and leaves the rest as it is.
import type { Colors } from '../colors.ts'
import type { Span } from '../terminal/layout.ts'

const KEYWORDS = new Set(
  `abstract and as async await begin bool boolean break case catch char class const continue def default defer del delete do double
  elif else end enum esac except export extends extern false fi final finally float fn for from func function go if impl implements import in
  instanceof int interface is lambda let local long loop match mod module mut namespace new nil none not null of or package pass private
  protected pub public raise readonly ref return self short signed static struct super switch then this throw throws trait true try type
  typedef typeof undefined union unsafe unsigned until use using var virtual void volatile when where while with yield
  SELECT FROM WHERE INSERT UPDATE DELETE INTO VALUES SET JOIN LEFT RIGHT INNER ON GROUP BY ORDER LIMIT CREATE TABLE AND OR NOT NULL AS`
    .trim()
    .split(/\s+/),
)
/** Languages in which `#` begins a comment. */
const HASH =
  /^(?:py|python|sh|bash|zsh|shell|console|rb|ruby|ya?ml|toml|ini|make|makefile|dockerfile|perl|r|elixir|nix)$/i
const DASHES = /^(?:sql|lua|haskell|hs|elm|ada)$/i
const PLAIN = /^(?:|text|txt|plain|md|markdown|output|log)$/i

export interface CodeState {
  /** Inside a comment of several lines, or a text of several lines, which ends with this. */
  readonly open?: string
}

/** One line of code; the state goes from line to line. */
export function codeSpans(
  line: string,
  language: string,
  color: Colors,
  state: CodeState = {},
): { readonly spans: readonly Span[]; readonly state: CodeState } {
  if (/^(?:diff|patch)$/i.test(language))
    return { spans: [{ text: line, paint: diffPaint(line, color) }], state: {} }
  if (PLAIN.test(language)) return { spans: [{ text: line }], state: {} }
  const spans: Span[] = []
  let rest = line
  let open = state.open
  if (open !== undefined) {
    const end = rest.indexOf(open)
    const paint = open === '*/' ? color.dim : color.green
    if (end < 0) return { spans: [{ text: line, paint }], state }
    spans.push({ text: rest.slice(0, end + open.length), paint })
    rest = rest.slice(end + open.length)
    open = undefined
  }
  const pattern = tokenPattern(language)
  let plain = ''
  const flush = () => {
    if (plain !== '') spans.push({ text: plain })
    plain = ''
  }
  while (rest !== '') {
    const found = pattern.exec(rest)
    if (!found) break
    plain += rest.slice(0, found.index)
    const [token = ''] = found
    rest = rest.slice(found.index + token.length)
    const opens = opened(token, rest)
    if (opens !== undefined) {
      flush()
      return {
        spans: [...spans, { text: token + rest, paint: opens === '*/' ? color.dim : color.green }],
        state: { open: opens },
      }
    }
    const paint = paintOf(found, color)
    if (!paint) {
      plain += token
      continue
    }
    flush()
    spans.push({ text: token, paint })
  }
  plain += rest
  flush()
  return { spans, state: {} }
}

function diffPaint(line: string, { green, red, cyan }: Colors): Span['paint'] {
  if (line.startsWith('+')) return green
  if (line.startsWith('-')) return red
  return line.startsWith('@@') ? cyan : undefined
}

function tokenPattern(language: string): RegExp {
  const comment = HASH.test(language) ? '(?<=^|\\s)#.*$' : DASHES.test(language) ? '--.*$' : '//.*$'
  return new RegExp(
    `(?<comment>${comment}|/\\*.*?\\*/|/\\*)|(?<text>"""|'''|"(?:[^"\\\\]|\\\\.)*"|'(?:[^'\\\\]|\\\\.)*'|\`(?:[^\`\\\\]|\\\\.)*\`|\`)|(?<number>\\b0x[0-9a-fA-F]+\\b|\\b\\d[\\d_]*(?:\\.\\d+)?\\b)|(?<word>[A-Za-z_][A-Za-z0-9_]*)`,
  )
}

/** What ends a token that goes on in the next line. */
function opened(token: string, rest: string): string | undefined {
  if (token === '/*') return '*/'
  if ((token === '"""' || token === "'''" || token === '`') && !rest.includes(token)) return token
  return undefined
}

function paintOf({ groups = {} }: RegExpExecArray, color: Colors): Span['paint'] {
  if (groups['comment'] !== undefined) return color.dim
  if (groups['text'] !== undefined) return color.green
  if (groups['number'] !== undefined) return color.yellow
  return KEYWORDS.has(groups['word'] ?? '') ? color.magenta : undefined
}
