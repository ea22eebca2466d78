// timeouts.ts: how long a verb waits: `--timeout`, `connectTimeout` of an entry, MCP_TIMEOUT, or the default.
import { connectTimeoutOf } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import type { Invocation } from '../context.ts'

export function timeoutOption(invocation: Invocation): number | undefined {
  const text = invocation.option('timeout')
  if (text === undefined) return undefined
  const [, digits = '', unit = ''] = /^(\d{1,10}(?:\.\d{1,3})?)(ms|s|m)?$/.exec(text) ?? []
  const value = Number(digits) * (unit === 'm' ? 60_000 : unit === 's' ? 1000 : 1)
  if (!Number.isInteger(value) || value <= 0 || value > 2 ** 31 - 1)
    throw new InvalidInput(`--timeout "${text}" is not a time.`, {
      hint: 'Write milliseconds as a number, or a number with a unit: 500ms, 30s, 2m.',
    })
  if (unit === '' && value < 1000) noteUnit(invocation, value)
  return value
}

const noted = new WeakSet<Invocation>()

/** Most commands count in seconds: a small number without a unit is likely meant so. */
function noteUnit(invocation: Invocation, value: number): void {
  if (noted.has(invocation)) return
  noted.add(invocation)
  invocation.output.note(
    `--timeout ${value} means ${value} milliseconds; write ${value}s for seconds, or ${value}ms.`,
  )
}

/** How long the slowest connect may take, and so how long showing the board may. */
export async function connectTimeout(invocation: Invocation): Promise<number> {
  const given = timeoutOption(invocation)
  const { servers } = await invocation.configuration()
  const entries = servers.length === 0 ? [{}] : servers.map(({ entry }) => entry)
  return Math.max(...entries.map((entry) => connectTimeoutOf(entry, given, invocation.host.env)))
}
