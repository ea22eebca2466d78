// rules.ts: the permission rules of the settings files and of `--allow`: which of them match a tool or a server. deny
// beats ask beats allow, wherever they are. How a rule is written: config/rule-syntax.ts.

import { concernsServer, coversServer, coversTool } from '../config/rule-matcher.ts'
import {
  namesServer,
  type ParsedRule,
  parseRule,
  type RuleUse,
  type UnreadableRule,
} from '../config/rule-syntax.ts'
import type { Decision, PermissionOutcome, ToolRequest } from './decision-types.ts'

/** One rule and the file it is written in. */
export interface Rule {
  readonly effect: PermissionOutcome
  readonly text: string
  readonly source: string
  /** `user-servers`: an allow rule of the user's that does not cover servers from a repository. */
  readonly reach?: 'user-servers' | undefined
  /** The signatures of the servers that it was saved for; without it, the name decides. */
  readonly signatures?: readonly string[] | undefined
}

/** The server's author, and its exact identity. */
export interface ServerFacts {
  readonly author?: 'user' | 'repository' | undefined
  readonly signature?: string | undefined
}

/** The strongest rule that matches the request. */
export function ruleVerdict(
  request: ToolRequest,
  rules: readonly Rule[],
  facts: ServerFacts = {},
): Decision | undefined {
  for (const effect of ['deny', 'ask', 'allow'] as const) {
    const rule = rules.find(
      (one) => one.effect === effect && covers(one, request) && (effect !== 'allow' || reaches(one, facts)),
    )
    if (rule) return decisionOf(rule)
  }
  return undefined
}

/** A rule is parsed once, however many tools it is matched against. */
const READ = new WeakMap<Rule, ParsedRule | UnreadableRule>()

function readOnce(rule: Rule): ParsedRule | UnreadableRule {
  const known = READ.get(rule)
  if (known) return known
  const read = parseRule(rule.text, useOf(rule.effect))
  READ.set(rule, read)
  return read
}

function decisionOf(rule: Rule): Decision {
  const read = readOnce(rule)
  const text = read.ok
    ? `the rule "${rule.text}" says ${rule.effect}`
    : `the ${rule.effect} rule "${rule.text}" ${read.problem}, so it holds for everything of "${read.server}"`
  return { outcome: rule.effect, reason: { kind: 'rule', text, rule: rule.text, source: rule.source } }
}

function covers(rule: Rule, request: ToolRequest): boolean {
  const use = useOf(rule.effect)
  const read = readOnce(rule)
  if (!read.ok) return closes(rule.effect, read, request.server)
  // Resources and prompts have no rules of their own: the rules for their whole server apply.
  return request.resource || request.prompt
    ? coversServer(read, request.server, use)
    : coversTool(read, request, use)
}

/** An unreadable `deny` or `ask` applies to the whole server it begins with; an unreadable `allow` to nothing. */
function closes(effect: PermissionOutcome, { server }: UnreadableRule, of: string): boolean {
  return effect !== 'allow' && server !== undefined && namesServer(server, of)
}

/** An allow rule is bound to a server, not to a name that a repository can give to another. */
export function reaches(
  { reach, signatures }: Pick<Rule, 'reach' | 'signatures'>,
  { author, signature }: ServerFacts,
): boolean {
  if (signatures !== undefined) return signature !== undefined && signatures.includes(signature)
  return reach === undefined || author !== 'repository'
}

function useOf(effect: PermissionOutcome): RuleUse {
  return effect === 'allow' ? 'allow' : 'restrict'
}

/** The rules about a server or its tools, strongest first. */
export function rulesAbout<T extends { readonly action: PermissionOutcome; readonly rule: string }>(
  server: string,
  rules: readonly T[],
): T[] {
  const about = ({ action, rule }: T) => {
    const read = parseRule(rule, useOf(action))
    return read.ok ? concernsServer(read, server, useOf(action)) : closes(action, read, server)
  }
  return (['deny', 'ask', 'allow'] as const).flatMap((action) =>
    rules.filter((one) => one.action === action && about(one)),
  )
}
