// decide.ts: one decision from the channel, the rules, what the user granted and who is calling. Pure.
import type { ChannelPermissions } from '../config/entry.ts'
import { channelVerdict } from './channel.ts'
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
  const channel = channelVerdict(request, standing.channel, standing.channelSource)
  if (channel?.outcome === 'deny') return channel
  const rule = ruleVerdict(request, standing.rules)
  if (rule?.outcome === 'deny') return rule
  if (channel?.outcome === 'ask') return channel
  const spoken = rule ?? channel
  if (spoken) return spoken
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
  return `${request.server}.${request.tool} ${verb}: ${decision.reason.text}${where}.`
}
