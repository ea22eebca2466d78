// export-traffic.ts: rows with their messages as a file, in the manner of a HAR: one entry a request, with times.
import { request } from '../state/board.ts'
import type { Exchange } from './exchanges.ts'

const AT_ONCE = 50

export async function exportTraffic(rows: readonly Exchange[]): Promise<string> {
  const entries: unknown[] = []
  for (let at = 0; at < rows.length; at += AT_ONCE)
    entries.push(...(await Promise.all(rows.slice(at, at + AT_ONCE).map(entryOf))))
  return JSON.stringify({ log: { version: '1.0', creator: { name: 'plugboard' }, entries } }, null, 2)
}

async function entryOf({ number, answer, at, durationMs, http, hooks, ...rest }: Exchange): Promise<unknown> {
  const [sent, received, ...exchanges] = await Promise.all([
    messageOf(number),
    answer === undefined ? undefined : messageOf(answer),
    ...http.map((one) => messageOf(one.number)),
  ])
  return {
    startedDateTime: new Date(at).toISOString(),
    ...(durationMs !== undefined && { time: durationMs }),
    ...rest,
    request: sent,
    ...(received !== undefined && { response: received }),
    ...(exchanges.length > 0 && { http: exchanges }),
    ...(hooks.length > 0 && { hooks: hooks.map(({ hook, durationMs: time }) => ({ ...hook, time })) }),
  }
}

async function messageOf(number: number): Promise<unknown> {
  return (await request<{ readonly message: unknown }>('traffic/message', { number })).message
}
