// channel.ts: what one server's own entry allows (`permissions` of the entry). It speaks before the rules do.
import type { ChannelPermissions, PermissionMode } from '../config/entry.ts'
import { fitsGlob, ruleSpelling } from './pattern.ts'
import type { Decision, ToolRequest } from './request.ts'

/** `undefined` is passthrough: the rules decide. */
export type ChannelVerdict = Decision | undefined

/** In this order: a denied tool, a denied kind of use, a tool that is not on the allow list, then what its use may do. */
export function channelVerdict(
  request: ToolRequest,
  permissions: ChannelPermissions = {},
  source?: string,
): ChannelVerdict {
  const say = (outcome: Decision['outcome'], text: string, rule: string): Decision => ({
    outcome,
    reason: { kind: 'channel', text, rule, ...(source !== undefined && { source }) },
  })
  const denied = permissions.deniedTools?.find((pattern) => namesTool(pattern, request))
  if (denied !== undefined)
    return say('deny', `"${denied}" is among the denied tools of "${request.server}"`, 'deniedTools')
  const { readPermission: reads, writePermission: writes } = permissions
  const use = request.traits.readOnly ? 'reading' : request.traits.destructive ? 'destructive use' : 'writing'
  const [mode, key] = request.traits.readOnly
    ? ([reads, 'readPermission'] as const)
    : ([writes, 'writePermission'] as const)
  if (mode === 'deny') return say('deny', `${use} is denied for "${request.server}"`, key)
  if (permissions.allowedTools && !permissions.allowedTools.some((pattern) => namesTool(pattern, request)))
    return say(
      'ask',
      `"${request.tool}" is not among the allowed tools of "${request.server}"`,
      'allowedTools',
    )
  if (mode === 'ask') return say('ask', `${use} asks first for "${request.server}"`, key)
  if (mode === 'allow' && mayLoosen(request, writes))
    return say('allow', `${use} is allowed for "${request.server}"`, key)
  return undefined
}

/** "It only reads" from a server that is not trusted opens nothing that writing would not open too. */
function mayLoosen(request: ToolRequest, writes: PermissionMode | undefined): boolean {
  return !request.traits.readOnly || request.trusted || writes === 'allow'
}

/** Tools are listed by their own name, with `*`, or by the whole name that the model sees. */
function namesTool(pattern: string, request: ToolRequest): boolean {
  return (
    fitsGlob(pattern, request.tool) ||
    pattern === request.name ||
    fitsGlob(pattern, ruleSpelling(request.tool))
  )
}

/** Resources: an allow list of URIs with `*`, and the read permission. */
export function resourceVerdict(
  server: string,
  uri: string,
  permissions: ChannelPermissions = {},
  source?: string,
): Decision {
  const say = (outcome: Decision['outcome'], text: string, rule: string): Decision => ({
    outcome,
    reason: { kind: 'channel', text, rule, ...(source !== undefined && { source }) },
  })
  if (permissions.readPermission === 'deny')
    return say('deny', `reading is denied for "${server}"`, 'readPermission')
  if (permissions.allowedResources && !permissions.allowedResources.some((pattern) => fitsGlob(pattern, uri)))
    return say('ask', `"${uri}" is not among the allowed resources of "${server}"`, 'allowedResources')
  if (permissions.readPermission === 'ask')
    return say('ask', `reading asks first for "${server}"`, 'readPermission')
  return say('allow', `nothing forbids reading resources of "${server}"`, 'readPermission')
}
