// frontmatter.ts: the front matter of a SKILL.md: where it ends, its content, and how that differs from the server's
// entry. Untrusted YAML: no aliases, bounded, and only what JSON can express.
import { isObject, own } from '../json.ts'
import { SKILL_LIMITS } from '../limits.ts'

export interface SkillText {
  readonly frontmatter: Readonly<Record<string, unknown>>
  /** The instructions themselves. */
  readonly body: string
}

/** The two parts of a SKILL.md, or a sentence on why it has none. */
export async function readSkillText(markdown: string): Promise<SkillText | string> {
  const text = markdown.replace(/^\uFEFF/, '')
  const open = /^---[ \t]*\r?\n/.exec(text)
  if (!open) return 'it does not begin with a line of "---"'
  const head = text.slice(open[0].length, open[0].length + SKILL_LIMITS.frontmatterChars)
  const close = /^---[ \t]*\r?$/m.exec(head)
  if (!close) return `its frontmatter has no end within ${SKILL_LIMITS.frontmatterChars} characters`
  const rest = text.slice(open[0].length + close.index + close[0].length)
  const frontmatter = await parseHead(head.slice(0, close.index))
  if (typeof frontmatter === 'string') return frontmatter
  return { frontmatter, body: rest.replace(/^\r?\n/, '') }
}

async function parseHead(yaml: string): Promise<Readonly<Record<string, unknown>> | string> {
  const { parseDocument } = await import('./yaml.ts')
  const document = parseDocument(yaml, { version: '1.2', schema: 'core', uniqueKeys: true, stringKeys: true })
  const [fault] = [...document.errors, ...document.warnings]
  if (fault) return `its frontmatter is not plain YAML: ${fault.message.split('\n', 1)[0]}`
  try {
    // An alias may expand without limit.
    const value: unknown = document.toJS({ maxAliasCount: 0 })
    return isObject(value) ? value : 'its frontmatter is not a list of fields'
  } catch {
    return 'its frontmatter uses aliases'
  }
}

/** The differences, one line each: every field of both, in any order, without turning strings into numbers. */
export function differences(
  entry: unknown,
  read: unknown,
  field = 'frontmatter',
  depth = 0,
): readonly string[] {
  if (depth > SKILL_LIMITS.frontmatterDepth) return [`${field} is nested too deeply`]
  if (Array.isArray(entry) && Array.isArray(read)) {
    if (entry.length !== read.length) return [`${field} has another length`]
    return entry.flatMap((item, at) => differences(item, read[at], `${field}[${at}]`, depth + 1))
  }
  if (isObject(entry) && isObject(read)) {
    const names = new Set([...Object.keys(entry), ...Object.keys(read)])
    return [...names].flatMap((name) => {
      const [a, b] = [own(entry, name), own(read, name)]
      return differences(a, b, depth === 0 ? name : `${field}.${name}`, depth + 1)
    })
  }
  return entry === read ? [] : [`${field} is ${shown(read)}, not ${shown(entry)}`]
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing'
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'a list' : 'a group of fields'
  return JSON.stringify(value).slice(0, 80)
}
