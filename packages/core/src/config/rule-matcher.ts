// rule-matcher.ts: does a rule cover a tool, or a whole server? The one matcher for rules, `expose`, channel lists and hooks.

import { TOOL_LIMITS } from '../limits.ts'
import {
  matchesGlob,
  namesServer,
  type ParsedRule,
  type RuleReading,
  type RuleUse,
  ruleSpelling,
} from './rule-syntax.ts'

/** A tool in every spelling that a rule may use. */
export interface ToolNames {
  readonly server: string
  /** The server's own name for the tool. */
  readonly tool: string
  /** The name that the model sees, from the registry: shortened or with a suffix where needed. */
  readonly name?: string | undefined
}

/** Does the rule cover this tool? */
export function coversTool(rule: ParsedRule, names: ToolNames, use: RuleUse): boolean {
  if (rule.text === names.name && (use === 'restrict' || isShortened(names))) return true
  const readings = use === 'restrict' ? rule.readings : rule.granted
  return readings.some(
    (reading) =>
      namesServer(reading.server, names.server) && (isWhole(reading) || fitsTool(reading, names, use)),
  )
}

/** Does the rule cover everything of the server: its tools, resources, prompts, completion and subscriptions? */
export function coversServer(rule: ParsedRule, server: string, use: RuleUse): boolean {
  const readings = use === 'restrict' ? rule.readings : rule.granted
  return readings.some((reading) => isWhole(reading) && namesServer(reading.server, server))
}

/** Is the server, or any of its tools, what the rule is about? */
export function concernsServer(rule: ParsedRule, server: string, use: RuleUse): boolean {
  const readings = use === 'restrict' ? rule.readings : rule.granted
  return readings.some((reading) => namesServer(reading.server, server))
}

/** `server`, `server.*` and `server.**` mean the same: all of it. */
function isWhole({ tool }: RuleReading): boolean {
  return tool === undefined || /^\*+$/.test(tool)
}

function fitsTool({ tool: pattern = '' }: RuleReading, names: ToolNames, use: RuleUse): boolean {
  const spelled = ruleSpelling(names.tool)
  const known = registered(names)
  if (use === 'restrict' || pattern.includes('*'))
    return (
      matchesGlob(pattern, names.tool) ||
      matchesGlob(pattern, spelled) ||
      (use === 'restrict' && known !== undefined && matchesGlob(pattern, known))
    )
  // Two tools may have the same spelling in our characters; a grant is for the one with that name in the registry.
  if (pattern === names.tool || pattern === known) return true
  return pattern === spelled && plain(names).length > TOOL_LIMITS.nameLength
}

/** The tool's part of the registry's name; unknown where the server's part was cut. */
function registered({ name, server, tool }: ToolNames): string | undefined {
  const prefix = `mcp__${ruleSpelling(server)}__`
  if (name === undefined) return ruleSpelling(tool)
  return name.startsWith(prefix) ? name.slice(prefix.length) : undefined
}

function isShortened(names: ToolNames): boolean {
  return names.name !== undefined && names.name !== plain(names)
}

function plain({ server, tool }: ToolNames): string {
  return `mcp__${ruleSpelling(server)}__${ruleSpelling(tool)}`
}

/** A rule for exactly this tool that matches no other tool and no other server. */
export function exactRule(names: ToolNames): string {
  const server = ruleSpelling(names.server)
  const tool = registered(names)
  // For a very long server name only the registry's name is left, and its hash belongs to this tool alone.
  if (tool === undefined) return names.name ?? plain(names)
  const rule = `mcp__${server}__${tool}`
  // `mcp__a__b__c` opens a tool of `a`; a server called `a__b` needs the dot.
  return rule.indexOf('__', 'mcp__'.length + 1) === 'mcp__'.length + server.length
    ? rule
    : `${server}.${tool}`
}
