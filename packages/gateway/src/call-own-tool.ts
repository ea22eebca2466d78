// call-own-tool.ts: tools that the program behind the gateway brings itself, beside those of the servers. Such a tool can call the
// tools that its client sees, with that client's permissions: a call that would be asked about is asked of the client's user.
import { NotFound } from '@plugboard/core'
import { exactLine } from '@plugboard/core/text/escape-controls'
import { plainQuestion, questionText } from '@plugboard/core/text/question-text'
import type { ClientRequest } from './client-request.ts'
import type { Gateway } from './gateway.ts'
import { isObject, type Json } from './json-rpc.ts'
import type { OwnTool } from './own-tool.ts'
import { elicitPermission } from './routing/permission-elicitation.ts'
import type { ToolRef } from './views/views.ts'

type CallTool = (params: Json) => Promise<Json>

/** `callTool`: as the client itself would call it. */
export async function callOwnTool(
  gateway: Gateway,
  tool: OwnTool,
  params: Json,
  request: ClientRequest,
  callTool: CallTool,
): Promise<Json> {
  const view = gateway.viewOf(request.client)
  const args = isObject(params.arguments) ? params.arguments : {}
  return await tool.call(args, {
    signal: request.signal,
    capabilities: request.client.capabilities,
    tools: view.tools,
    callTool: async (name, given) => {
      const ref = view.tool(name)
      if (!ref) throw new NotFound('tool', name)
      const refusal = await refused(name, ref, given, request)
      return refusal === undefined ? await callTool({ name, arguments: given }) : refusal
    },
    ask: (method, asked, signal) => request.ask(method, asked, signal),
    progress: progressTo(params, request),
  })
}

/** The client cannot see this call, so it cannot ask its user by its own means. */
async function refused(
  name: string,
  { tool }: ToolRef,
  args: Json,
  request: ClientRequest,
): Promise<Json | undefined> {
  const { outcome, reason } = tool.checkPermissions(args)
  if (outcome === 'allow') return undefined
  // Of a deny rule the call itself tells.
  if (outcome === 'deny') return undefined
  const why = `It needs a permission (${reason.text}).`
  if (!request.client.capabilities.elicitForm)
    return fault(
      `${name} was not called. ${why} The client cannot be asked; a rule under permissions.allow can allow it.`,
    )
  const question = questionText({
    head: `The agent wants to call ${exactLine(name)}. Allow it?`,
    notes: [`Asked because ${exactLine(reason.text)}.`],
    values: args,
  })
  if (!question.complete) return fault(`${name} was not called: its arguments are too large to be shown.`)
  const allowed = await elicitPermission(request, plainQuestion(question))
  return allowed ? undefined : fault(`${name} was not called: the user said no.`)
}

function progressTo({ _meta }: Json, request: ClientRequest): (message: string) => void {
  const progressToken = isObject(_meta) ? _meta['progressToken'] : undefined
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return () => undefined
  let progress = 0
  return (message) =>
    request.notify('notifications/progress', { progressToken, progress: ++progress, message })
}

function fault(text: string): Json {
  return { isError: true, content: [{ type: 'text', text }] }
}
