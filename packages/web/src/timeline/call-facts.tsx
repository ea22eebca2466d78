// call-facts.tsx: the permission decision of a call with its rule, from the audit log.
import { type ReactNode, useEffect, useState } from 'react'
import { request } from '../state/board.ts'
import type { Json } from '../state/types.ts'
import type { Exchange } from './exchanges.ts'

type Rows = readonly (readonly [string, ReactNode])[]

/** The log's line is written when a call ends, and is soon on disk. */
const AFTER_MS = 2500
const WAIT_MS = 700

export function useDecision({ method, direction, server, name, at, durationMs, outcome }: Exchange): Rows {
  const [line, setLine] = useState<Json>()
  const isCall = method === 'tools/call' && direction === 'sent' && outcome !== 'open'
  const ended = at + (durationMs ?? 0)
  useEffect(() => {
    if (!isCall) return undefined
    const read = () =>
      request<{ readonly entries: readonly Json[] }>('audit/read').then(
        ({ entries }) => setLine(nearest(entries, server, name, ended)),
        // Without a log there is nothing to say.
        () => undefined,
      )
    void read()
    const again = setTimeout(() => void read(), WAIT_MS)
    return () => clearTimeout(again)
  }, [isCall, server, name, ended])
  if (!line) return []
  const text = (key: string) => (line[key] === undefined ? '' : String(line[key]))
  return [
    ['Decision', `${text('decision')}: ${text('reason')}`],
    ['Rule', text('rule') === '' ? undefined : <code key="rule">{text('rule')}</code>],
    ['Rule is in', text('source')],
  ]
}

/** The line of this tool that ended closest to the call. */
function nearest(
  entries: readonly Json[],
  server: string,
  tool: string | undefined,
  ended: number,
): Json | undefined {
  const distance = (entry: Json) => Math.abs(Date.parse(String(entry['time'] ?? entry['at'])) - ended)
  return entries
    .filter((entry) => entry['server'] === server && entry['tool'] === tool && distance(entry) <= AFTER_MS)
    .sort((one, other) => distance(one) - distance(other))[0]
}
