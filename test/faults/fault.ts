// fault.ts: the type of one entry of the fault table: how the peer or the network misbehaves, and what must hold then.
import type { ErrorCode, Stage } from '@plugboard/core'
import type { LinePlan } from './lab.ts'
import type { Scene } from './scene.ts'

export const KINDS = ['stdio', 'http', 'sse', 'ws'] as const
export type Kind = (typeof KINDS)[number]

/** Whether the transport has a login provider, as it does for every user of the command. */
export type Login = 'provider' | 'no provider'
/** A local process needs no login. */
export const loginsOn = (kind: Kind): readonly Login[] =>
  kind === 'stdio' ? ['no provider'] : ['provider', 'no provider']

/** How a call ends: answered, answered with `isError`, or rejected with this code. */
export type Outcome = 'ok' | 'tool-error' | ErrorCode
export type Wanted = Outcome | readonly Outcome[]
/** One for all transports, or one each. */
export type PerKind<T> = T | { readonly [K in Kind]?: T }

export type Up =
  | 'connected'
  | {
      readonly state: 'failed' | 'needs-auth'
      readonly code: ErrorCode | readonly ErrorCode[]
      readonly stage?: Stage
    }

export interface Fault {
  readonly name: string
  /** What the peer, or the network, does; one sentence for the report. */
  readonly how: string
  readonly on: readonly Kind[]
  /** The peer's misbehaviour; a good server when left out. */
  readonly behaviour?: string
  /** What the proxy does to the connection: from the first byte, or once the server is up. */
  readonly lineFirst?: LinePlan
  readonly line?: LinePlan
  /** Part of the everyday tests. */
  readonly quick?: boolean
  /** How the connect must end; `connected` when left out. */
  readonly up?: PerKind<Up>
  /** How calling a read-only tool must end, and one that is not marked as safe to repeat. */
  readonly call?: PerKind<Wanted>
  readonly write?: PerKind<Wanted>
  /** How a plain call afterwards must end; `ok` unless the server is not up. */
  readonly after?: PerKind<Wanted>
  /** The longest a call may take, as the entry says. */
  readonly timeoutMs?: number
  readonly connectMs?: number
  readonly reconnects?: number
  /** What the process may grow by at its peak. */
  readonly peakMiB?: number
  /** Time runs this many times faster for the board, for waits that are long by design. */
  readonly quicker?: number
  /** A check beyond the fields above: a sentence, and a function that throws when it does not hold. */
  readonly also?: readonly [string, (scene: Scene) => Promise<void> | void]
}

const isPerKind = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !('state' in value)

/** The part of an expectation that is meant for this transport. */
export function forKind<T>(value: PerKind<T> | undefined, kind: Kind): T | undefined {
  if (!isPerKind(value)) return value
  // What is not a single expectation is the record by transport; the check above tells them apart.
  return (value as { readonly [K in Kind]?: T })[kind]
}

/** The expectation as text, for the report. */
export function expectation(fault: Fault): string {
  const words: string[] = []
  const say = (what: string, value: PerKind<Wanted> | undefined) => {
    if (value === undefined) return
    if (!isPerKind(value)) return words.push(`${what} ${outcomeText(value)}`)
    const each = Object.entries(value).map(([kind, one]) => `${outcomeText(one)} (${kind})`)
    return words.push(`${what} ${each.join(', ')}`)
  }
  words.push(upText(fault.up))
  say('call', fault.call)
  say('write', fault.write)
  say('then', fault.after)
  if (fault.also) words.push(fault.also[0])
  return words.join('; ')
}

function upText(up: PerKind<Up> | undefined): string {
  if (up === undefined || up === 'connected') return 'connected'
  if (isPerKind(up))
    return Object.entries(up)
      .map(([kind, one]) => `${upText(one)} (${kind})`)
      .join(', ')
  const { state, code, stage } = up as Exclude<Up, 'connected'>
  return `${state}, ${[code].flat().map(tick).join(' or ')}${stage ? ` at stage ${stage}` : ''}`
}

const tick = (word: string) => `\`${word}\``
const outcomeText = (wanted: Wanted) => [wanted].flat().map(tick).join(' or ')
