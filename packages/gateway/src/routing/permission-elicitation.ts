// permission-elicitation.ts: asks a client's user by an elicitation whether a call may be made. The text is the caller's.
import type { ClientRequest } from '../client-request.ts'
import { isObject, type Json } from '../json-rpc.ts'

const ONCE_OR_NO: Json = {
  type: 'object',
  properties: {
    answer: {
      type: 'string',
      title: 'Answer',
      oneOf: [
        { const: 'once', title: 'Yes, this time' },
        { const: 'no', title: 'No' },
      ],
    },
  },
  required: ['answer'],
}

/** True when the user said yes; anything else is a no. */
export async function elicitPermission(
  request: ClientRequest,
  message: string,
  signal: AbortSignal = request.signal,
): Promise<boolean> {
  const asked = { mode: 'form', message, requestedSchema: ONCE_OR_NO }
  const { action, content } = await request.ask('elicitation/create', asked, signal)
  return action === 'accept' && isObject(content) && content.answer === 'once'
}
