// timeouts.ts: how long a verb waits: `--timeout`, MCP_TIMEOUT, or the default.
import { InvalidInput } from '@plugboard/core/errors'
import { CONNECT_LIMITS } from '@plugboard/core/limits'
import type { Invocation } from '../context.ts'

export function timeoutOption(invocation: Invocation): number | undefined {
  const text = invocation.option('timeout')
  if (text === undefined) return undefined
  const value = Number(text)
  if (!Number.isInteger(value) || value <= 0 || value > 2 ** 31 - 1)
    throw new InvalidInput(`--timeout "${text}" is not a number of milliseconds.`)
  return value
}

/** How long one connect may take, and so how long showing the board may. */
export function connectTimeout(invocation: Invocation): number {
  const fromEnv = Number(invocation.host.env['MCP_TIMEOUT'])
  const usual = Number.isInteger(fromEnv) && fromEnv > 0 ? fromEnv : CONNECT_LIMITS.timeoutMs
  return timeoutOption(invocation) ?? usual
}
