// decide.ts: one decision from the channel, the rules, what the user granted and who is calling. Pure.
import type { ChannelPermissions } from '../config/entry.ts'
import { channelVerdict, resourceVerdict } from './channel.ts'
import type { Decision, ToolRequest } from './request.ts'
import { type Rule, ruleVerdict } from './rules.ts'

/** Everything that bears on one server's tools. */
export interface Standing {
  readonly channel?: ChannelPermissions | undefined
  /** Where the server's entry is written. */
  readonly channelSource?: string | undefined
  readonly rules: readonly Rule[]
}

/**
 * deny beats ask beats allow, over the channel and the rules together. Where both are silent the user is asked;
 * a built-in server's own list answers instead.
 */
export function decide(request: ToolRequest, standing: Standing): Decision {
  if (request.resource)
    return resourceVerdict(request.server, request.tool, standing.channel, standing.channelSource)
  const decision = spoken(request, standing)
  if (decision.outcome !== 'allow' || !request.changes) return decision
  return { outcome: 'ask', reason: { kind: 'changed', text: 'its definition changed since it was accepted' } }
}

function spoken(request: ToolRequest, standing: Standing): Decision {
  const channel = channelVerdict(request, standing.channel, standing.channelSource)
  if (channel?.outcome === 'deny') return channel
  const rule = ruleVerdict(request, standing.rules)
  if (rule?.outcome === 'deny') return rule
  if (channel?.outcome === 'ask') return channel
  const said = rule ?? channel
  if (said) return said
  if (request.builtin?.asks)
    return { outcome: 'ask', reason: { kind: 'builtin', text: request.builtin.asks } }
  if (request.builtin?.allowedTools.includes(request.tool))
    return {
      outcome: 'allow',
      reason: { kind: 'builtin', text: `the built-in server "${request.server}" allows it by its own list` },
    }
  return { outcome: 'ask', reason: { kind: 'default', text: 'no rule speaks about it' } }
}

/** The sentence for a person: what was decided, by what, and where that is written. */
export function explainDecision(request: ToolRequest, decision: Decision): string {
  const verb = { allow: 'is allowed', ask: 'asks first', deny: 'is denied' }[decision.outcome]
  const where = decision.reason.source === undefined ? '' : ` (${decision.reason.source})`
  const what = request.resource
    ? `Reading ${request.tool} of ${request.server}`
    : `${request.server}.${request.tool}`
  return `${what} ${verb}: ${decision.reason.text}${where}.`
}
