// rule-syntax.ts: the one language of permission rules: how a rule is written and which servers and tools its text
// can mean. Settings files, `--allow`, `expose` and hook matchers use it. permissions/ decides what follows from a
// rule.

/** `allow` and `expose` open something; `restrict` closes something: `deny`, `ask`, a hook. */
export type RuleUse = 'allow' | 'expose' | 'restrict'

/** One way to read a rule. Both parts may hold `*`; without `tool` it is about the whole server. */
export interface RuleReading {
  readonly server: string
  readonly tool?: string
}

export interface ParsedRule {
  readonly ok: true
  readonly text: string
  /** Every reading of the text. A rule that restricts follows all of them. */
  readonly readings: readonly RuleReading[]
  /** The readings that a rule that opens follows: `mcp__a__b` opens the tool `b` of `a`, never the server `a__b`. */
  readonly granted: readonly RuleReading[]
}

export interface UnreadableRule {
  readonly ok: false
  readonly text: string
  /** What is wrong, as the end of a sentence that starts with the rule. */
  readonly problem: string
  readonly hint: string
  /** The server that the text begins with. An unreadable `deny` closes this server until it is repaired. */
  readonly server?: string
}

export const RULE_CHARS = 600
const PREFIX = 'mcp__'
const SERVER = /^[A-Za-z0-9_*-]+(?:\.[A-Za-z0-9_*-]+)*$/
const TOOL = /^[^\s()[\]{}"'`,;\\\p{Cc}\p{Cf}]+$/u
const FORMS = 'Write `server`, `server.tool`, `server.get_*` or `mcp__server__tool`.'

export function parseRule(text: string, use: RuleUse): ParsedRule | UnreadableRule {
  if (text.length > RULE_CHARS) return unreadable(text, `is longer than ${RULE_CHARS} characters`)
  if (text.trim() === '') return unreadable(text, 'is empty')
  const parsed = text.startsWith(PREFIX) ? readPrefixed(text) : readDotted(text)
  if (!parsed.ok || use !== 'allow') return parsed
  const granted = parsed.granted.filter(({ server }) => !server.includes('*'))
  if (granted.length > 0) return { ...parsed, granted }
  return unreadable(text, 'has a "*" in the name of the server', 'A rule that allows names one server.')
}

/** `mcp__server`, `mcp__server__tool`. A server's name may hold `__` too, so every `__` can be the border. */
function readPrefixed(text: string): ParsedRule | UnreadableRule {
  const rest = text.slice(PREFIX.length)
  const readings: RuleReading[] = []
  for (let at = rest.indexOf('__', 1); at > 0; at = rest.indexOf('__', at + 1)) {
    const [server, tool] = [rest.slice(0, at), rest.slice(at + 2)]
    if (SERVER.test(server) && TOOL.test(tool) && !isBlurred(server)) readings.push({ server, tool })
  }
  const first = readings[0]
  const border = rest.indexOf('__', 1)
  if (SERVER.test(rest) && !isBlurred(rest) && !rest.endsWith('__')) readings.push({ server: rest })
  const granted = border < 0 ? readings : first?.server === rest.slice(0, border) ? [first] : []
  if (granted.length > 0) return { ok: true, text, readings, granted }
  return rest.endsWith('__') && SERVER.test(rest)
    ? unreadable(text, 'names no tool', didYouMean(text.slice(0, -2)))
    : unreadable(text, 'is not a rule')
}

/** `server`, `server.tool`. Either part may hold dots, so every dot can be the border. */
function readDotted(text: string): ParsedRule | UnreadableRule {
  const readings: RuleReading[] = []
  for (let at = text.indexOf('.', 1); at > 0; at = text.indexOf('.', at + 1)) {
    const [server, tool] = [text.slice(0, at), text.slice(at + 1)]
    if (SERVER.test(server) && TOOL.test(tool)) readings.push({ server, tool })
  }
  if (SERVER.test(text)) readings.push({ server: text })
  if (readings.length > 0 && !/^mcp__/i.test(text)) return { ok: true, text, readings, granted: readings }
  return unreadable(text, 'is not a rule')
}

/** `mcp__git__*` is about the tools of `git`; it is not a pattern for servers such as `git__evil`. */
function isBlurred(server: string): boolean {
  return server.includes('*') && server.includes('__')
}

function unreadable(text: string, problem: string, hint?: string): UnreadableRule {
  const server = leadingServer(text)
  return {
    ok: false,
    text,
    problem,
    hint: hint ?? suggestion(text) ?? FORMS,
    ...(server !== undefined && { server }),
  }
}

/** The name at the beginning of a text that is not a rule. */
function leadingServer(text: string): string | undefined {
  const [, name] = /^[^A-Za-z0-9_-]*(?:mcp__)?([A-Za-z0-9_-]+)/i.exec(text) ?? []
  if (name === undefined) return undefined
  const border = name.indexOf('__', 1)
  return border < 0 ? name : name.slice(0, border)
}

/** Common mistakes: a slash, a colon or brackets instead of the dot, `MCP__`, spaces around. */
function suggestion(text: string): string | undefined {
  const trimmed = text.trim().replace(/^mcp__/i, PREFIX)
  const [, server, tool] = /^([A-Za-z0-9_-]+)\s*[/:(> ]+\s*([A-Za-z0-9_.*-]+)\)?$/.exec(trimmed) ?? []
  const border = server?.startsWith(PREFIX) ? '__' : '.'
  const meant = tool === undefined ? trimmed : `${server}${border}${tool}`
  return meant !== text && parseRule(meant, 'restrict').ok ? didYouMean(meant) : undefined
}

function didYouMean(rule: string): string {
  return `Did you mean "${rule}"?`
}

/** Does `text` match `pattern`, where `*` matches anything? Not a regular expression, so no pattern can be slow. */
export function matchesGlob(pattern: string, text: string): boolean {
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

/** Is the server among those that a reading's first part names? */
export function namesServer(pattern: string, server: string): boolean {
  return matchesGlob(pattern, server) || matchesGlob(pattern, ruleSpelling(server))
}
