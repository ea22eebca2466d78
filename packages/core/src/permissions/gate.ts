// gate.ts: turns `ask` into yes or no: by a grant of this session, by the kind of caller, or by prompting the user.

import { exactRule } from '../config/rule-matcher.ts'
import { Cancelled } from '../errors.ts'
import { decide, type ServerPermissions } from './decide.ts'
import type { Decision, Reason, ToolRequest } from './decision-types.ts'

/** The caller of a tool, which decides how consent is given. */
export type Caller =
  /** The user typed it: that is consent. */
  | 'user'
  /** A model requested it: the user is prompted. */
  | 'agent'
  /** A client of a served board requested it and prompts its own user. */
  | 'client'

/** What a user can answer to a permission question. */
export type PermissionAnswer = 'once' | 'session' | 'always' | 'no'

/** A question of the board: may this call be made? */
export interface PermissionQuestion {
  readonly request: ToolRequest
  readonly reason: Reason
  readonly arguments: unknown
  /** `always` is offered only where a saved rule would indeed stop the prompts. */
  readonly answers: readonly PermissionAnswer[]
  /** What `always` would write, and to which file, where it is known. */
  readonly saves?: { readonly rule: string; readonly file?: string | undefined } | undefined
  readonly signal?: AbortSignal | undefined
}

export interface GateOptions {
  /** Prompts the user. Without it no user is present to prompt. */
  readonly ask?: ((question: PermissionQuestion) => Promise<PermissionAnswer>) | undefined
  /** Writes an allow rule for the server of this signature to the user's settings, and returns the file. */
  readonly save?: ((rule: string, signature?: string) => Promise<string>) | undefined
  /** The file that `save` writes to, to name it in the prompt. */
  readonly savesTo?: (() => string | undefined) | undefined
  /** A served board that prompts its own user too, whatever its client does. */
  readonly askForClients?: boolean | undefined
}

/** A final decision: no prompt is left. */
export interface GateDecision extends Decision {
  readonly outcome: 'allow' | 'deny'
}

/** The caller: its kind, and which client of a served board. */
export interface Requester {
  readonly caller: Caller
  /** Identifies clients of a served board: prompts and grants of one do not affect the others. */
  readonly client?: string | undefined
}

/** Stores what the user granted for this session; everything else is passed in each time. */
export class PermissionGate {
  readonly #options: GateOptions
  readonly #granted = new Set<string>()
  /**
   * One prompt at a time for one tool: a second call waits for the first one's decision, which may cover it. Clients
   * of a served board do not wait for each other: one may leave its prompt open for minutes.
   */
  readonly #open = new Map<string, Promise<unknown>>()

  /**
   * Permissions that hold for every call of a tool, whatever its arguments. A change of rules or servers makes another
   * `ServerPermissions`, and a change of the tool another tool.
   */
  readonly #remembered = new WeakMap<
    ServerPermissions,
    WeakMap<object, Partial<Record<Caller, GateDecision>>>
  >()

  constructor(options: GateOptions = {}) {
    this.#options = options
  }

  /** A permission remembered for this tool. */
  recall(tool: object, standing: ServerPermissions, who: Requester): GateDecision | undefined {
    return this.#remembered.get(standing)?.get(tool)?.[who.caller]
  }

  /** A refusal is never remembered, and neither is what one client of a served board was granted. */
  remember(tool: object, standing: ServerPermissions, who: Requester, verdict: GateDecision): void {
    if (verdict.outcome !== 'allow' || (who.caller === 'client' && verdict.reason.kind === 'grant')) return
    const known = this.#remembered.get(standing) ?? new WeakMap()
    this.#remembered.set(standing, known)
    known.set(tool, { ...known.get(tool), [who.caller]: verdict })
  }

  /** A decision without a prompt, at once; `undefined` when the user has to be prompted. */
  quick(request: ToolRequest, standing: ServerPermissions, who: Requester): GateDecision | undefined {
    return this.#settled(request, standing, who)
  }

  async check(
    request: ToolRequest,
    standing: ServerPermissions,
    who: Requester,
    args: unknown,
    signal?: AbortSignal,
  ): Promise<GateDecision> {
    const key = grantKey(request, standing, who)
    // The other call gets its own decision; here it only matters that the prompt is closed.
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

  #settled(request: ToolRequest, standing: ServerPermissions, who: Requester): GateDecision | undefined {
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
        reason: { ...reason, kind: 'no-user', text: `${reason.text}, and there is no user to ask` },
      }
    return undefined
  }

  async #askUser(
    request: ToolRequest,
    standing: ServerPermissions,
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
    // Anything else, including a choice that was not offered, is a no.
    return { outcome: 'deny', reason: { kind: 'user', text: 'the user said no' } }
  }
}

/** By the entry's signature too: another server that gets the same name has no grant. */
function grantKey(request: ToolRequest, standing: ServerPermissions, who: Requester): string {
  const kind = request.resource ? 'resource' : request.prompt ? 'prompt' : 'tool'
  return JSON.stringify([
    request.server,
    standing.signature,
    kind,
    request.tool,
    // What a built-in asks about because of its arguments, a yes to other calls does not cover.
    request.builtin?.asks,
    who.caller === 'client' ? who.client : undefined,
  ])
}

/** Resolves when the prompt is closed in any way, or when the signal aborts the wait. */
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
