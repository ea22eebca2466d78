// limits.ts: what one gateway takes from its clients: the defaults of the core, and what the settings say instead.
import { GATEWAY_LIMITS } from '@plugboard/core/limits'

/** What clients may hold at a time, in all and for one owner (one token), and how long. */
export interface GatewayLimits {
  readonly sessions: number
  readonly sessionsPerOwner: number
  readonly streams: number
  readonly streamsPerOwner: number
  readonly listens: number
  readonly listensPerOwner: number
  readonly questions: number
  readonly questionsPerOwner: number
  readonly drainMs: number
  /** How long a call waits for the calls of other clients on a legacy server whose questions do not name their call. */
  readonly turnMs: number
  /** How long a question of such a server waits until it is clear which client it is for. */
  readonly holdMs: number
  readonly sessionIdleMs: number
  readonly sessionMaxMs: number
}

type Given = { readonly [K in keyof GatewayLimits]?: number | undefined }

export function gatewayLimits(given: Given = {}): GatewayLimits {
  const of = GATEWAY_LIMITS
  return {
    sessions: given.sessions ?? of.sessions,
    sessionsPerOwner: given.sessionsPerOwner ?? of.sessionsPerOwner,
    streams: given.streams ?? of.streams,
    streamsPerOwner: given.streamsPerOwner ?? of.streamsPerOwner,
    listens: given.listens ?? of.listens,
    listensPerOwner: given.listensPerOwner ?? of.listensPerOwner,
    questions: given.questions ?? of.clientQuestions,
    questionsPerOwner: given.questionsPerOwner ?? of.clientQuestionsPerOwner,
    drainMs: given.drainMs ?? of.drainMs,
    turnMs: given.turnMs ?? of.turnMs,
    holdMs: given.holdMs ?? of.holdMs,
    sessionIdleMs: given.sessionIdleMs ?? of.sessionIdleMs,
    sessionMaxMs: given.sessionMaxMs ?? of.sessionMaxMs,
  }
}
