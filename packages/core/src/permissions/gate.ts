// gate.ts: turns `ask` into yes or no: by a grant of this session, by who is calling, or by asking the user.

import { exactRule } from '../config/rule-matcher.ts'
import { Cancelled } from '../errors.ts'
import { decide, type Standing } from './decide.ts'
import type { Decision, Reason, ToolRequest } from './request.ts'

/** Who wants the call, and so who can answer for it. */
export type Caller =
  /** The user typed it: that is consent. */
  | 'user'
  /** A model wants it: the user is asked. */
  | 'agent'
  /** A client in front of a served board wants it and asks its own user. */
  | 'client'

export type PermissionAnswer = 'once' | 'session' | 'always' | 'no'

export interface PermissionQuestion {
  readonly request: ToolRequest
  readonly reason: Reason
  readonly arguments: unknown
  /** `always` is offered only where a saved rule would indeed stop the asking. */
  readonly answers: readonly PermissionAnswer[]
  /** What `always` would write, and to which file, where it is known. */
  readonly saves?: { readonly rule: string; readonly file?: string | undefined } | undefined
  readonly signal?: AbortSignal | undefined
}

export interface GateOptions {
  /** Asks the user. Without it, nobody is there to ask. */
  readonly ask?: ((question: PermissionQuestion) => Promise<PermissionAnswer>) | undefined
  /** Writes an allow rule for the server of this signature to the user's settings, and returns where. */
  readonly save?: ((rule: string, signature?: string) => Promise<string>) | undefined
  /** The file that `save` writes to, to say it beforehand. */
  readonly savesTo?: (() => string | undefined) | undefined
  /** A served board that asks its own user too, whatever the client in front does. */
  readonly askForClients?: boolean | undefined
}

/** A final word: nothing is left to ask. */
export interface GateDecision extends Decision {
  readonly outcome: 'allow' | 'deny'
}

/** Who wants a call: what kind of caller, and which client of a served board. */
export interface Requester {
  readonly caller: Caller
  /** Tells clients of a served board apart: what one of them is asked or grants is no concern of the others. */
  readonly client?: string | undefined
}

/** Remembers what the user granted for this session; everything else it is told anew each time. */
export class PermissionGate {
  readonly #options: GateOptions
  readonly #granted = new Set<string>()
  /**
   * One question at a time for one tool: a second call waits for the first one's answer, which may cover it. Clients of a
   * served board do not wait for each other: one may leave its question open for minutes.
   */
  readonly #open = new Map<string, Promise<unknown>>()

  constructor(options: GateOptions = {}) {
    this.#options = options
  }

  /** A decision that needs no question, at once; `undefined` when the user has to be asked. */
  quick(request: ToolRequest, standing: Standing, who: Requester): GateDecision | undefined {
    return this.#settled(request, standing, who)
  }

  async check(
    request: ToolRequest,
    standing: Standing,
    who: Requester,
    args: unknown,
    signal?: AbortSignal,
  ): Promise<GateDecision> {
    const key = grantKey(request, standing, who)
    // The other call gets its own answer; here it only matters that the question is closed.
    for (let busy = this.#open.get(key); busy; busy = this.#open.get(key)) {
      await closed(busy, signal)
      if (signal?.aborted) throw new Cancelled(undefined, { server: request.server, stage: 'call' })
    }
    const settled = this.#settled(request, standing, who)
    if (settled) return settled
    const asking = this.#askUser(request, standing, who, args, signal)
    if (who.caller === 'client') return await asking
    this.#open.set(key, asking)
    try {
      return await asking
    } finally {
      if (this.#open.get(key) === asking) this.#open.delete(key)
    }
  }

  #settled(request: ToolRequest, standing: Standing, who: Requester): GateDecision | undefined {
    const { outcome, reason } = decide(request, standing)
    const { caller } = who
    if (outcome !== 'ask') return { outcome, reason }
    if (!request.changes && this.#granted.has(grantKey(request, standing, who)))
      return { outcome: 'allow', reason: { kind: 'grant', text: 'the user allowed it for this session' } }
    if (caller === 'user')
      return { outcome: 'allow', reason: { ...reason, kind: 'user', text: 'the user called it directly' } }
    if (caller === 'client' && !this.#options.askForClients)
      return { outcome: 'allow', reason: { ...reason, kind: 'client', text: 'the client asks its own user' } }
    if (!this.#options.ask)
      return {
        outcome: 'deny',
        reason: { ...reason, kind: 'nobody', text: `${reason.text}, and there is no user to ask` },
      }
    return undefined
  }

  async #askUser(
    request: ToolRequest,
    standing: Standing,
    who: Requester,
    args: unknown,
    signal: AbortSignal | undefined,
  ): Promise<GateDecision> {
    const { reason } = decide(request, standing)
    const savable = this.#options.save !== undefined && reason.kind === 'default'
    const answers: PermissionAnswer[] = savable
      ? ['once', 'session', 'always', 'no']
      : ['once', 'session', 'no']
    const saves = savable ? { rule: request.name, file: this.#options.savesTo?.() } : undefined
    const answer = await this.#options.ask?.({ request, reason, arguments: args, answers, saves, signal })
    if (answer === 'once')
      return { outcome: 'allow', reason: { kind: 'user', text: 'the user allowed it once' } }
    if (answer === 'session' || answer === 'always') {
      this.#granted.add(grantKey(request, standing, who))
      if (answer === 'session' || !savable)
        return { outcome: 'allow', reason: { kind: 'user', text: 'the user allowed it for this session' } }
      const rule = exactRule(request)
      const source = await this.#options.save?.(rule, standing.signature)
      return {
        outcome: 'allow',
        reason: {
          kind: 'user',
          text: 'the user allowed it always',
          rule,
          ...(source !== undefined && { source }),
        },
      }
    }
    // Anything else, an answer that is not among those offered included, is a no.
    return { outcome: 'deny', reason: { kind: 'user', text: 'the user said no' } }
  }
}

/** By the entry's signature too: another server that gets the same name has been granted nothing. */
function grantKey(request: ToolRequest, standing: Standing, who: Requester): string {
  const kind = request.resource ? 'resource' : request.prompt ? 'prompt' : 'tool'
  return JSON.stringify([
    request.server,
    standing.signature ?? null,
    kind,
    request.tool,
    who.caller === 'client' ? (who.client ?? null) : null,
  ])
}

/** Resolves when the question is answered in whatever way, or when the signal says that nobody waits any more. */
function closed(question: Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((done) => {
    const end = () => {
      signal?.removeEventListener('abort', end)
      done()
    }
    if (signal?.aborted) return end()
    signal?.addEventListener('abort', end, { once: true })
    question.then(end, end)
  })
}
