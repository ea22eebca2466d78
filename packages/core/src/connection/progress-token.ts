// progress-token.ts: the parameters of a request with a token, under which its server may report progress.
import { isObject, type Json } from './server-info.ts'

export function withProgressToken(params: Json | undefined, token: number | string): Json {
  // Nearly every call is of this form, and spreading it costs more than sending it.
  if (params && isNameAndArguments(params))
    return { name: params.name, arguments: params.arguments, _meta: { progressToken: token } }
  const meta = params && isObject(params._meta) ? params._meta : undefined
  return { ...params, _meta: { ...meta, progressToken: token } }
}

function isNameAndArguments(params: Json): boolean {
  let known = 0
  for (const key in params) {
    if (key !== 'name' && key !== 'arguments') return false
    known++
  }
  return known === 2
}
