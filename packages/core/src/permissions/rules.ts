// rules.ts: the permission rules of the settings files: `mcp__server`, `mcp__server__*`, `mcp__server__tool`,
// `mcp__server__get_*`. deny beats ask beats allow, wherever they stand. Rules about anything but MCP are not ours.
import { fitsGlob, ruleSpelling } from './pattern.ts'
import type { Decision, Outcome, ToolRequest } from './request.ts'

/** One rule and the file it is written in. */
export interface Rule {
  readonly effect: Outcome
  readonly text: string
  readonly source: string
}

/** The `permissions` object of one settings file. */
export interface RuleLists {
  readonly allow?: readonly string[]
  readonly ask?: readonly string[]
  readonly deny?: readonly string[]
}

export interface ReadRules {
  readonly rules: readonly Rule[]
  readonly warnings: readonly string[]
}

const NAME_CHARS = 600

/** Reads the `permissions` of a settings file; what is not a rule is told, and the rest counts. */
export function readRules(raw: unknown, source: string): ReadRules {
  const rules: Rule[] = []
  const warnings: string[] = []
  if (raw === undefined) return { rules, warnings }
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw))
    return { rules, warnings: [`"permissions" in ${source} is not an object.`] }
  for (const effect of ['deny', 'ask', 'allow'] as const) {
    const list: unknown = Object.hasOwn(raw, effect) ? (raw as Record<string, unknown>)[effect] : undefined
    if (list === undefined) continue
    if (!Array.isArray(list)) {
      warnings.push(`"permissions.${effect}" in ${source} is not a list.`)
      continue
    }
    for (const text of list as unknown[]) {
      const problem = ruleProblem(text)
      if (typeof text === 'string' && problem === undefined) rules.push({ effect, text, source })
      else if (problem) warnings.push(`A rule under "permissions.${effect}" in ${source} ${problem}.`)
    }
  }
  return { rules, warnings }
}

/** What is wrong with a rule; an empty text for one that is well-formed and not about MCP. */
function ruleProblem(text: unknown): string | undefined {
  if (typeof text !== 'string') return 'is not a text'
  if (!text.startsWith('mcp__')) return ''
  if (text.length > NAME_CHARS) return 'is too long'
  const star = text.indexOf('*')
  if (star >= 0 && !text.slice('mcp__'.length, star).includes('__'))
    return `has a "*" in the server's name ("${text}"): name the server`
  return undefined
}

/** The strongest rule that speaks about the tool. */
export function ruleVerdict(request: ToolRequest, rules: readonly Rule[]): Decision | undefined {
  for (const effect of ['deny', 'ask', 'allow'] as const) {
    const rule = rules.find((one) => one.effect === effect && fitsRule(one, request))
    if (rule)
      return {
        outcome: effect,
        reason: {
          kind: 'rule',
          text: `the rule "${rule.text}" says ${effect}`,
          rule: rule.text,
          source: rule.source,
        },
      }
  }
  return undefined
}

/**
 * The server's part of a rule is always literal, so `mcp__git__*` never reaches a server called `git__evil`. A rule
 * without `*` that could be read as two different tools allows only the one that bears the name, and denies both.
 */
function fitsRule(rule: Rule, request: ToolRequest): boolean {
  const { text } = rule
  if (text === request.name) return true
  const server = `mcp__${ruleSpelling(request.server)}`
  if (text === server) return true
  if (!text.startsWith(`${server}__`)) return false
  const pattern = text.slice(server.length + 2)
  const tool = ruleSpelling(request.tool)
  if (pattern.includes('*')) return fitsGlob(pattern, tool)
  if (pattern !== tool && pattern !== request.tool) return false
  // A name that fits in 64 characters belongs to the tool that the registry gave it to.
  return rule.effect !== 'allow' || text.length > 64
}

/** The rules that name a server or tools of it, strongest first. `mcp__a__b` may speak of the server `a` and of `a__b`. */
export function rulesAbout<T extends { readonly action: Outcome; readonly rule: string }>(
  server: string,
  rules: readonly T[],
): T[] {
  const name = `mcp__${ruleSpelling(server)}`
  return (['deny', 'ask', 'allow'] as const).flatMap((action) =>
    rules.filter((one) => one.action === action && (one.rule === name || one.rule.startsWith(`${name}__`))),
  )
}
