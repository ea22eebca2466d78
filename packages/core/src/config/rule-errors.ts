// rule-errors.ts: what is wrong with the permission rules in our own files: invalid rules, and rules for servers or tools
// that do not exist. Other products' rules in their own files are not checked.
import { nearest } from '../text/nearest.ts'
import { concernsServer, coversServer, coversTool, type ToolNames } from './rule-matcher.ts'
import { namesServer, parseRule, type RuleUse } from './rule-syntax.ts'
import type { Source } from './sources.ts'
import type { Diagnostic } from './types.ts'

export type RuleAction = 'allow' | 'ask' | 'deny'
export const RULE_ACTIONS: readonly RuleAction[] = ['deny', 'ask', 'allow']

const useOf = (action: RuleAction): RuleUse => (action === 'allow' ? 'allow' : 'restrict')

/** Is this text a rule for us? Our files hold nothing else; other products' files hold rules for their own tools. */
export function isOurs(rule: string, source: Pick<Source, 'product' | 'scope'>): boolean {
  if (source.product !== 'claude' || rule.startsWith('mcp__')) return true
  // An administrator's file applies to all products; `server.tool` cannot be one of another product's tools.
  return source.scope === 'enterprise' && rule.includes('.') && parseRule(rule, 'restrict').ok
}

/** A rule that counts. An unreadable `deny` or `ask` still closes the server it begins with. */
export function isEffective(action: RuleAction, rule: string): boolean {
  return action !== 'allow' || parseRule(rule, 'allow').ok
}

export interface RuleError {
  readonly message: string
  readonly hint: string
}

/** What is wrong with a rule's text, and its effect until it is repaired. */
export function ruleError(action: RuleAction, text: string): RuleError | undefined {
  const read = parseRule(text, useOf(action))
  if (read.ok) return undefined
  const effect =
    action === 'allow'
      ? 'It allows nothing.'
      : read.server === undefined
        ? `It has no effect: it does not ${action === 'deny' ? 'deny' : 'guard'} anything.`
        : `Until it is repaired, everything of a server named "${read.server}" ${action === 'deny' ? 'is denied' : 'asks'}.`
  return {
    message: `the ${action} rule ${JSON.stringify(text)} ${read.problem}`,
    hint: `${read.hint} ${effect}`,
  }
}

interface WrittenRule {
  readonly action: RuleAction
  readonly rule: string
  readonly file: string
}

/** Rules whose server does not exist: perhaps a typo, perhaps a server that is not always present. */
export function rulesWithoutServer(rules: readonly WrittenRule[], servers: readonly string[]): Diagnostic[] {
  return rules.flatMap(({ action, rule, file }) => {
    const read = parseRule(rule, useOf(action))
    if (!read.ok) return []
    const named = read.readings.map(({ server }) => server)
    if (named.some((pattern) => servers.some((server) => namesServer(pattern, server)))) return []
    const similar = named.flatMap((name) => nearest(name, servers) ?? [])[0]
    return [
      {
        severity: 'warning',
        topic: 'rules',
        file,
        path: `permissions.${action}`,
        message: `the rule ${JSON.stringify(rule)} is about a server that is not configured here`,
        hint:
          similar === undefined
            ? 'It counts when there is one. `plugboard list` shows the servers that there are.'
            : `Did you mean the server "${similar}"?`,
      },
    ]
  })
}

/**
 * Rules that match no tool of the server that they name. `toolsOf` is undefined for a server whose tools are not known:
 * a rule about it gets no warning. Nor does a pattern for servers, which is about those to come, too.
 */
export function rulesWithoutTool<R extends WrittenRule>(
  rules: readonly R[],
  servers: readonly string[],
  toolsOf: (server: string) => readonly ToolNames[] | undefined,
): { readonly rule: R; readonly diagnostic: Diagnostic }[] {
  return rules.flatMap((one) => {
    const { action, rule, file } = one
    const use = useOf(action)
    const read = parseRule(rule, use)
    if (!read.ok || read.readings.some(({ server, tool }) => tool !== undefined && server.includes('*')))
      return []
    const about = servers.filter((server) => concernsServer(read, server, use))
    if (about.length === 0 || about.some((server) => coversServer(read, server, use))) return []
    const known = about.map(toolsOf)
    const tools = known.flatMap((list) => list ?? [])
    if (known.includes(undefined) || tools.some((names) => coversTool(read, names, use))) return []
    const wanted = read.readings.flatMap(({ tool }) => tool ?? [])
    const similar = wanted.flatMap(
      (name) =>
        nearest(
          name,
          tools.map(({ tool }) => tool),
        ) ?? [],
    )[0]
    const whose = about.map((server) => `"${server}"`).join(' or ')
    const diagnostic: Diagnostic = {
      severity: 'warning',
      topic: 'rules',
      file,
      path: `permissions.${action}`,
      message: `the rule ${JSON.stringify(rule)} matches no tool of ${whose}`,
      hint:
        similar === undefined
          ? `It counts when there is one. \`plugboard tools ${about[0]}\` lists the tools that there are.`
          : `Did you mean the tool "${similar}"?`,
    }
    return [{ rule: one, diagnostic }]
  })
}
