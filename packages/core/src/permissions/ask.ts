// ask.ts: turns `ask` into yes or no: by a grant of this session, by who is calling, or by asking the user.
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

export type Answer = 'once' | 'session' | 'always' | 'no'

export interface Question {
  readonly request: ToolRequest
  readonly reason: Reason
  readonly arguments: unknown
  /** `always` is offered only where a saved rule would indeed stop the asking. */
  readonly answers: readonly Answer[]
  readonly signal?: AbortSignal | undefined
}

export interface GateOptions {
  /** Asks the user. Without it, nobody is there to ask. */
  readonly ask?: ((question: Question) => Promise<Answer>) | undefined
  /** Writes an allow rule to the user's settings, and returns where. */
  readonly save?: ((rule: string) => Promise<string>) | undefined
  /** A served board that asks its own user too, whatever the client in front does. */
  readonly askForClients?: boolean | undefined
}

/** A final word: nothing is left to ask. */
export interface Verdict extends Decision {
  readonly outcome: 'allow' | 'deny'
}

/** Remembers what the user granted for this session; everything else it is told anew each time. */
export class PermissionGate {
  readonly #options: GateOptions
  readonly #granted = new Set<string>()
  /** One question at a time for one tool: a second call waits for the first one's answer. */
  readonly #open = new Map<string, Promise<unknown>>()

  constructor(options: GateOptions = {}) {
    this.#options = options
  }

  /** A yes that needs nobody, at once; `undefined` when somebody may have to be asked. */
  quick(request: ToolRequest, standing: Standing, caller: Caller): Verdict | undefined {
    return this.#settled(request, decide(request, standing), caller)
  }

  async check(
    request: ToolRequest,
    standing: Standing,
    caller: Caller,
    args: unknown,
    signal?: AbortSignal,
    client?: string,
  ): Promise<Verdict> {
    const decision = decide(request, standing)
    // Clients of a served board have users of their own: none waits for another's answer.
    const key = JSON.stringify([grantKey(request), client])
    const busy = this.#open.get(key)
    // What the other call's user answered, its caller hears; here it only matters that the question is closed.
    if (busy) await busy.catch(() => undefined)
    const settled = this.#settled(request, decision, caller)
    if (settled) return settled
    const asking = this.#askUser(request, decision.reason, args, signal)
    this.#open.set(key, asking)
    try {
      return await asking
    } finally {
      if (this.#open.get(key) === asking) this.#open.delete(key)
    }
  }

  #settled(request: ToolRequest, decision: Decision, caller: Caller): Verdict | undefined {
    const { outcome, reason } = decision
    if (outcome !== 'ask') return { outcome, reason }
    if (!request.changes && this.#granted.has(grantKey(request)))
      return { outcome: 'allow', reason: { kind: 'grant', text: 'the user allowed it for this session' } }
    if (caller === 'user')
      return { outcome: 'allow', reason: { ...reason, kind: 'user', text: 'the user called it directly' } }
    if (caller === 'client' && !this.#options.askForClients)
      return { outcome: 'allow', reason: { ...reason, kind: 'client', text: 'asking is left to the client' } }
    if (!this.#options.ask)
      return {
        outcome: 'deny',
        reason: { ...reason, kind: 'nobody', text: `${reason.text}, and there is nobody to ask` },
      }
    return undefined
  }

  async #askUser(
    request: ToolRequest,
    reason: Reason,
    args: unknown,
    signal: AbortSignal | undefined,
  ): Promise<Verdict> {
    const savable = this.#options.save !== undefined && reason.kind === 'default'
    const answers: Answer[] = savable ? ['once', 'session', 'always', 'no'] : ['once', 'session', 'no']
    const answer = await this.#options.ask?.({ request, reason, arguments: args, answers, signal })
    if (answer === 'once')
      return { outcome: 'allow', reason: { kind: 'user', text: 'the user allowed it once' } }
    if (answer === 'session' || answer === 'always') {
      this.#granted.add(grantKey(request))
      if (answer === 'session' || !savable)
        return { outcome: 'allow', reason: { kind: 'user', text: 'the user allowed it for this session' } }
      const source = await this.#options.save?.(request.name)
      return {
        outcome: 'allow',
        reason: {
          kind: 'user',
          text: 'the user allowed it always',
          rule: request.name,
          ...(source !== undefined && { source }),
        },
      }
    }
    // Anything else, an answer that is not among those offered included, is a no.
    return { outcome: 'deny', reason: { kind: 'user', text: 'the user said no' } }
  }
}

function grantKey(request: ToolRequest): string {
  return JSON.stringify([request.server, request.tool])
}
