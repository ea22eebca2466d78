// trace: the last messages between the resident board and its servers, from the same recording that the page shows.
import type { TrafficEntry } from '@plugboard/core'
import { sleep } from '@plugboard/core/async/waits'
import { InvalidInput } from '@plugboard/core/errors'
import { visible } from '@plugboard/core/text/escape-controls'
import type { Colors } from '../colors.ts'
import { type Invocation, words } from '../context.ts'
import { EXIT, jsonLine } from '../output.ts'
import { reachResident } from '../resident/control.ts'
import { listenForInterrupt } from '../shared/interrupt.ts'
import { neverBlock, readByReader, write } from '../streams.ts'

type Traced = TrafficEntry & { readonly message?: unknown }

interface Recording {
  readonly last: number
  readonly entries: readonly Traced[]
}

const FOLLOW_MS = 200

export async function run(invocation: Invocation): Promise<number> {
  const [server] = words(invocation, ['SERVER'], 1)
  const { host, output } = invocation
  const reached = await reachResident(host)
  if (!reached) {
    output.result({ entries: [] }, () => 'No resident board runs, so nothing is recorded.')
    return EXIT.done
  }
  const messages = invocation.flag('messages')
  const limit = countOption(invocation)
  const read = async (after: number, most: number) => {
    const got = (await reached.peer.request('board/traffic', { after, limit: most, messages })) as Recording
    return { ...got, entries: got.entries.filter((one) => server === undefined || one.server === server) }
  }
  const first = await read(0, EVERYTHING)
  const entries = first.entries.slice(-limit)
  const { color } = output
  if (!invocation.flag('follow')) {
    await reached.peer.end()
    output.result({ entries }, () => entries.map((one) => asText(one, color)).join('\n'))
    if (entries.length === 0 && !output.json) output.note('No message was recorded yet.')
    if (messages && entries.some(({ isOutline }) => isOutline) && !output.json)
      output.note(
        'Messages are kept whole from the first time that `plugboard trace` or the page looks: of earlier ones only what they were is known.',
      )
    return EXIT.done
  }
  neverBlock()
  const stop = listenForInterrupt()
  const print = (one: Traced) => write(1, output.json ? jsonLine(one) : `${asText(one, color)}\n`)
  for (const one of entries) print(one)
  for (let { last } = first; !stop.signal.aborted && !reached.peer.isClosed; ) {
    const more = await read(last, EVERYTHING)
    for (const one of more.entries) print(one)
    last = more.last
    await readByReader(stop.signal)
    await sleep(host, FOLLOW_MS, stop.signal).catch(() => undefined)
  }
  stop.release()
  await reached.peer.end()
  return EXIT.interrupted
}

/** The recording itself is bounded. */
const EVERYTHING = 1_000_000

function countOption(invocation: Invocation): number {
  const text = invocation.option('lines') ?? '200'
  if (!/^\d{1,6}$/.test(text) || Number(text) === 0)
    throw new InvalidInput(`--lines "${text}" is not a number of lines.`)
  return Number(text)
}

const MARKS = {
  request: '→',
  response: '←',
  error: '✘',
  notification: '·',
  http: '⇄',
  hook: '⚑',
  end: '⊘',
} as const

function asText(entry: Traced, colors: Colors): string {
  const { dim, red, yellow } = colors
  const { at, server, direction, kind, method = '', name, durationMs, size, toolError, message } = entry
  // A request that the server sent points the other way.
  const turned = kind === 'request' ? direction === 'received' : kind === 'response' && direction === 'sent'
  const mark = turned ? (kind === 'request' ? '←' : '→') : MARKS[kind]
  const time = new Date(at).toISOString().slice(11, 23)
  const took = durationMs === undefined ? '' : ` ${durationMs} ms`
  const failed = kind === 'error' ? red(' error') : toolError ? yellow(' tool error') : besides(entry, colors)
  const what = `${method}${name === undefined ? '' : ` ${visible(name)}`}`
  const line = `${dim(time)} ${kind === 'error' ? red(mark) : mark} ${visible(server)}  ${what}${failed}${dim(`${took}${entry.isOutline || entry.http || entry.hook || kind === 'end' ? '' : `  ${sizeText(size)}`}`)}`
  return message === undefined ? line : `${line}\n  ${visible(JSON.stringify(message) ?? '')}`
}

/** What an HTTP exchange was answered with, what a hook decided, or why there is no answer in time. */
function besides({ http, hook, unanswered, isLate }: Traced, { red, yellow }: Colors): string {
  if (unanswered) return unanswered === 'cancelled' ? yellow(' cancelled') : red(` ${unanswered}`)
  if (isLate) return yellow(' late')
  if (http) {
    const { status, failure, attempt, retryAfterMs } = http
    const outcome = failure === undefined ? ` ${status}` : red(` ${visible(failure)}`)
    const waits = retryAfterMs === undefined ? '' : `, Retry-After ${retryAfterMs} ms`
    return `${(status ?? 0) >= 400 ? yellow(outcome) : outcome}${attempt > 1 ? ` (attempt ${attempt})` : ''}${waits}`
  }
  if (!hook) return ''
  const { decision, command, source, reason } = hook
  const which = [command ?? 'a function', source].filter((text) => text !== undefined)
  const said = decision === 'refused' || decision === 'failed' ? yellow(decision) : decision
  return ` ${said}: ${visible(which.join(', '))}${reason === undefined ? '' : `: ${visible(reason)}`}`
}

function sizeText(chars: number): string {
  return chars < 1000 ? `${chars} B` : `${(chars / 1000).toFixed(1)} kB`
}
