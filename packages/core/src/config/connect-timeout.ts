// connect-timeout.ts: how long a connect to a server may take, and whose word counts: the program's or the command line's, the
// entry's, MCP_TIMEOUT's, or the default.
import { CONNECT_LIMITS } from '../limits.ts'
import type { ServerEntry } from './entry.ts'

export function connectTimeoutOf(
  entry: Pick<ServerEntry, 'connectTimeout'>,
  given: number | undefined,
  env: Readonly<Record<string, string | undefined>>,
): number {
  const fromEnv = Number(env.MCP_TIMEOUT)
  const usual = Number.isInteger(fromEnv) && fromEnv > 0 ? fromEnv : CONNECT_LIMITS.timeoutMs
  return given ?? entry.connectTimeout ?? usual
}
