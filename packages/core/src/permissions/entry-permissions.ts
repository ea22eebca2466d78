// entry-permissions.ts: what one server's own entry allows (`permissions` of the entry). It is checked before the rules.
import type { ChannelPermissions } from '../config/entry.ts'
import { coversTool } from '../config/rule-matcher.ts'
import { parseRule, type RuleUse } from '../config/rule-syntax.ts'
import type { ConfiguredServer } from '../config/types.ts'
import type { Decision, ToolRequest } from './decision-types.ts'
import { matchesGlob, ruleSpelling } from './glob.ts'

/** `undefined` is passthrough: the rules decide. */
export type ChannelVerdict = Decision | undefined

export interface ChannelFacts {
  /** Where the server's entry is written. */
  readonly channelSource?: string | undefined
  /** False where the user did not write the entry: then its `allow` opens nothing, and `deny` and `ask` still count. */
  readonly channelGrants?: boolean | undefined
}

/** A repository, a plugin or a list cannot grant itself anything through its entries. */
export function isOfUser({ author, scope }: Pick<ConfiguredServer, 'author' | 'scope'>): boolean {
  return author !== 'repository' && scope !== 'plugin' && scope !== 'claudeai'
}

/** In this order: a denied tool, a denied kind of use, a tool that is not on the allow list, then what its use may do. */
export function channelVerdict(
  request: ToolRequest,
  permissions: ChannelPermissions = {},
  facts: ChannelFacts = {},
): ChannelVerdict {
  const verdict = verdictFor(facts)
  const { server, tool, traits } = request
  const denied = permissions.deniedTools?.find((pattern) => namesTool(pattern, request, 'restrict'))
  if (denied !== undefined)
    return verdict('deny', `"${denied}" is among the denied tools of "${server}"`, 'deniedTools')
  const use = traits.readOnly ? 'reading' : traits.destructive ? 'destructive use' : 'writing'
  const key = traits.readOnly ? 'readPermission' : 'writePermission'
  const mode = permissions[key]
  if (mode === 'deny') return verdict('deny', `${use} is denied for "${server}"`, key)
  // An empty list allows nothing.
  if (
    permissions.allowedTools &&
    !permissions.allowedTools.some((pattern) => namesTool(pattern, request, 'allow'))
  )
    return verdict('ask', `"${tool}" is not among the allowed tools of "${server}"`, 'allowedTools')
  if (mode === 'ask') return verdict('ask', `${use} asks first for "${server}"`, key)
  if (mode === 'allow' && facts.channelGrants !== false)
    return verdict('allow', `${use} is allowed for "${server}"`, key)
  return undefined
}

/** Tools are listed by their own name or in our spelling of it, with `*`, or as in a rule: `server.tool`, `mcp__…`. */
function namesTool(pattern: string, request: ToolRequest, use: RuleUse): boolean {
  if (matchesGlob(pattern, request.tool) || matchesGlob(pattern, ruleSpelling(request.tool))) return true
  // A single name is a tool of this server, also where the server has the same name.
  if (!pattern.includes('.') && !pattern.startsWith('mcp__')) return false
  const rule = parseRule(pattern, use)
  return rule.ok && coversTool(rule, request, use)
}

/** Resources and prompts: the read permission, and for resources an allow list of URIs with `*`. */
export function readVerdict(
  request: ToolRequest,
  permissions: ChannelPermissions = {},
  facts: ChannelFacts = {},
): ChannelVerdict {
  const verdict = verdictFor(facts)
  const { server, tool: uri } = request
  const { readPermission: mode, allowedResources } = permissions
  if (mode === 'deny') return verdict('deny', `reading is denied for "${server}"`, 'readPermission')
  if (request.resource && allowedResources && !allowedResources.some((pattern) => matchesGlob(pattern, uri)))
    return verdict('ask', `"${uri}" is not among the allowed resources of "${server}"`, 'allowedResources')
  if (mode === 'ask') return verdict('ask', `reading asks first for "${server}"`, 'readPermission')
  return undefined
}

function verdictFor({ channelSource }: ChannelFacts) {
  return (outcome: Decision['outcome'], text: string, rule: string): Decision => ({
    outcome,
    reason: { kind: 'channel', text, rule, ...(channelSource !== undefined && { source: channelSource }) },
  })
}
