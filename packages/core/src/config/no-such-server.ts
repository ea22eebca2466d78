// no-such-server.ts: the error for a name that no server has, with the most similar names.
import { ServerNotFound } from '../errors.ts'
import { nearest } from '../text/nearest.ts'

export function noSuchServer(name: string, known: readonly string[]): ServerNotFound {
  const typed = name.toLowerCase()
  const close = known.filter((one) => one.toLowerCase().includes(typed) || typed.includes(one.toLowerCase()))
  const similar = nearest(name, known)
  if (similar !== undefined && !close.includes(similar)) close.unshift(similar)
  const hint = close.length > 0 ? `Did you mean ${close.slice(0, 3).join(', ')}?` : undefined
  return new ServerNotFound(name, hint ? { hint } : {})
}
