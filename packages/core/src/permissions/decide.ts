// decide.ts: one decision from the channel, the rules, the user's grants and the caller. Pure.
import type { ChannelPermissions } from '../config/entry.ts'
import type { Decision, ToolRequest } from './decision-types.ts'
import { type ChannelFacts, channelVerdict, readVerdict } from './entry-permissions.ts'
import { type Rule, ruleVerdict, type ServerFacts } from './rules.ts'

/** Everything that concerns one server. */
export interface ServerPermissions extends ChannelFacts, ServerFacts {
  readonly channel?: ChannelPermissions | undefined
  readonly rules: readonly Rule[]
}

/**
 * deny beats ask beats allow, over the channel and the rules together. Where neither matches, a tool asks, and a
 * resource or a prompt may be read; for a built-in server its own list decides instead.
 */
export function decide(request: ToolRequest, permissions: ServerPermissions): Decision {
  if (request.resource || request.prompt)
    return (
      strongest(
        readVerdict(request, permissions.channel, permissions),
        ruleVerdict(request, permissions.rules, permissions),
      ) ?? {
        outcome: 'allow',
        reason: { kind: 'default', text: `nothing forbids reading from "${request.server}"` },
      }
    )
  const decision = decideWithoutChanges(request, permissions)
  if (decision.outcome !== 'allow' || !request.changes) return decision
  return { outcome: 'ask', reason: { kind: 'changed', text: 'its definition changed since it was accepted' } }
}

function decideWithoutChanges(request: ToolRequest, permissions: ServerPermissions): Decision {
  const matched = strongest(
    channelVerdict(request, permissions.channel, permissions),
    ruleVerdict(request, permissions.rules, permissions),
  )
  if (matched) return matched
  if (request.builtin?.asks)
    return { outcome: 'ask', reason: { kind: 'builtin', text: request.builtin.asks } }
  if (request.builtin?.allowedTools.includes(request.tool))
    return {
      outcome: 'allow',
      reason: { kind: 'builtin', text: `the built-in server "${request.server}" allows it by its own list` },
    }
  return { outcome: 'ask', reason: { kind: 'default', text: 'no rule matches' } }
}

const STRENGTH = { deny: 2, ask: 1, allow: 0 } as const

/** The stronger of two; of two equal ones the rule, except that a closing channel comes first. */
function strongest(channel: Decision | undefined, rule: Decision | undefined): Decision | undefined {
  if (!channel || !rule) return channel ?? rule
  const [c, r] = [STRENGTH[channel.outcome], STRENGTH[rule.outcome]]
  return c > r || (c === r && c > 0) ? channel : rule
}

/** The sentence for the user: what was decided, by what, and where that is written. */
export function explainDecision(request: ToolRequest, decision: Decision): string {
  const verb = { allow: 'is allowed', ask: 'asks first', deny: 'is denied' }[decision.outcome]
  const where = decision.reason.source === undefined ? '' : ` (${decision.reason.source})`
  return `${subject(request)} ${verb}: ${decision.reason.text}${where}.`
}

function subject({ resource, prompt, server, tool }: ToolRequest): string {
  if (resource) return tool === '' ? `Reading from ${server}` : `Reading ${tool} of ${server}`
  if (prompt) return tool === '' ? `Getting prompts of ${server}` : `The prompt ${tool} of ${server}`
  return `${server}.${tool}`
}
