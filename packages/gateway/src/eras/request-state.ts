// request-state.ts: the `requestState` of a call that waits for its client's answer: sealed, bound to the owner and to the request
// it belongs to. For a server of 2026-07-28 it carries the server's own state, so that another process can go on with it.
import { createHash, randomBytes } from 'node:crypto'
import { JsonRpcError } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import type { Origin } from '../client-request.ts'
import { type Json, RPC } from '../json-rpc.ts'
import type { KeyRing } from '../sealing/key-ring.ts'

/** What the answers belong to at the server, when any process that has them can ask it again. */
export interface Resumption {
  readonly server: string
  readonly requestState: unknown
  readonly keys: readonly string[]
}

export interface CallState {
  /** The suspended call, in the process that suspended it. */
  readonly id: string
  readonly until: number
  /** False when another process suspended it. */
  readonly ours: boolean
  readonly resumption: Resumption | undefined
}

interface Request {
  readonly owner: string
  readonly fingerprint: string
}

export class CallStates {
  readonly #keys: KeyRing
  readonly #process: string

  constructor(keys: KeyRing, replica?: string) {
    this.#keys = keys
    this.#process = replica ?? randomBytes(8).toString('base64url')
  }

  seal(
    request: Request,
    resumption: Resumption | undefined,
  ): { readonly id: string; readonly token: string } {
    const id = randomBytes(12).toString('base64url')
    const token = this.#keys.seal('requestState', {
      id,
      process: this.#process,
      request: digestOf(request),
      until: Date.now() + GATEWAY_LIMITS.clientQuestionMs,
      ...(resumption && { resumption }),
    })
    return { id, token }
  }

  /** Throws when it is not ours, has expired, or belongs to another owner or another request. */
  open(token: unknown, request: Request): CallState {
    const value = this.#keys.open('requestState', token)
    if (!value || value.request !== digestOf(request) || !(Number(value.until) > Date.now()))
      throw noSuchState()
    return {
      id: String(value.id),
      until: Number(value.until),
      ours: value.process === this.#process,
      // It was sealed here or by a process that shares our keys.
      resumption: value.resumption as Resumption | undefined,
    }
  }
}

/** The process that has the suspended call of a state, as far as the seal is good. Who may go on with it is checked there. */
export function processOf(keys: KeyRing, token: unknown): string | undefined {
  const process = keys.open('requestState', token)?.process
  return typeof process === 'string' ? process : undefined
}

export function noSuchState(): JsonRpcError {
  return new JsonRpcError(
    RPC.invalidParams,
    'There is no such requestState: it belongs to another request, was answered, or has expired. Make the call again.',
  )
}

/** When every open question came in one answer of one server of 2026-07-28, that answer can be given anywhere. */
export function resumptionOf(
  questions: Iterable<readonly [string, { readonly origin?: Origin | undefined }]>,
) {
  const all = [...questions]
  const first = all[0]?.[1].origin
  if (!first) return undefined
  const state = JSON.stringify(first.requestState) ?? ''
  const isOne = all.every(
    ([key, { origin }]) =>
      origin?.server === first.server &&
      origin.key === key &&
      (JSON.stringify(origin.requestState) ?? '') === state,
  )
  if (!isOne || state.length > GATEWAY_LIMITS.stateChars) return undefined
  return { server: first.server, requestState: first.requestState, keys: all.map(([key]) => key) }
}

/** What a retry must repeat to the letter. */
export function fingerprint(method: string, params: Json): string {
  const { _meta, inputResponses, requestState, ...rest } = params
  return JSON.stringify([method, rest])
}

function digestOf({ owner, fingerprint: text }: Request): string {
  return createHash('sha256')
    .update(JSON.stringify([owner, text]))
    .digest('base64url')
}
