// traffic-notes.ts: what a recording keeps beside messages: the HTTP exchanges that carried them, the hooks that ran around calls, and
// requests that ended without an answer; all without secrets. traffic.ts decides when they are kept and which request they belong to.
import { maskEntry } from '../config/mask.ts'
import { type ShownExchange, shownExchange, type WireExchange } from '../transports/wire-exchange.ts'
import type { Unanswered } from './json-rpc.ts'

/** An HTTP exchange of a message: of a request that was sent again there are several. */
export type TrafficHttp = Pick<
  ShownExchange,
  'method' | 'url' | 'attempt' | 'status' | 'retryAfterMs' | 'failure'
>

/** A hook that ran, as a recording shows it. */
export interface TrafficHook {
  readonly event: string
  /** `passed`, `refused`, `changed`, `added`, `answered` or `failed`. */
  readonly decision: string
  readonly command?: string
  readonly source?: string
  /** Of a refusal or a failure. */
  readonly reason?: string
}

/** A hook that ran, as the board tells it. */
export interface TrafficHookRun extends TrafficHook {
  readonly server: string
  readonly tool?: string
  readonly durationMs: number
  /** The arguments of the call as objects, before the hook and as it left them. */
  readonly arguments?: object
  readonly changedArguments?: object
}

const TEXT_CHARS = 300

export class HttpNote {
  readonly messageId: string | number | undefined
  readonly shown: ShownExchange

  constructor(exchange: WireExchange, hide: (text: string) => string) {
    this.messageId = exchange.messageId
    this.shown = shownExchange(exchange, hide)
  }

  /** The part of an entry that it is. */
  entry() {
    const { requestHeaders: _, responseHeaders: __, durationMs, ...http } = this.shown
    const { method, url: name } = http
    return { kind: 'http' as const, method, name, durationMs, http: http as TrafficHttp }
  }
}

export class HookNote {
  readonly call: number | undefined
  readonly tool: string | undefined
  readonly durationMs: number
  readonly shown: TrafficHook

  constructor(run: TrafficHookRun, call: number | undefined) {
    const { event, decision, command, source, reason } = run
    this.call = call
    this.tool = run.tool
    this.durationMs = run.durationMs
    this.shown = {
      event,
      decision,
      ...(command !== undefined && { command: masked('command', command) }),
      ...(source !== undefined && { source: source.slice(0, TEXT_CHARS) }),
      ...(reason !== undefined && { reason: masked('reason', reason) }),
    }
  }

  entry() {
    const { call, tool, durationMs, shown } = this
    return {
      kind: 'hook' as const,
      method: shown.event,
      durationMs,
      hook: shown,
      ...(tool !== undefined && { name: tool }),
      ...(call !== undefined && { call }),
    }
  }
}

/** A request that was cancelled, took too long, or lost its connection. */
export class EndNote {
  readonly messageId: string | number
  readonly why: Unanswered

  constructor(messageId: string | number, why: Unanswered) {
    this.messageId = messageId
    this.why = why
  }

  get shown() {
    return { id: this.messageId, unanswered: this.why }
  }
}

export type TrafficNote = HttpNote | HookNote | EndNote

function masked(name: string, text: string): string {
  const { [name]: shown } = maskEntry({ [name]: text }) as Readonly<Record<string, unknown>>
  return String(shown).slice(0, TEXT_CHARS)
}

/** Which call a set of arguments belongs to. Programs may call twice with the same object: a call that was sent is over. */
export class HookedCalls {
  readonly #byArguments = new WeakMap<object, { readonly call: number; isSent: boolean }>()
  #calls = 0

  /** No hook ran before any call so far: nothing has to be looked up. */
  get isEmpty(): boolean {
    return this.#calls === 0
  }

  /** The call that a hook ran for; `sentAs` finds one that was sent before any hook ran. */
  ran(
    run: TrafficHookRun,
    sentAs: (args: object) => ((call: number) => void) | undefined,
  ): number | undefined {
    const { arguments: args, changedArguments: changed } = run
    if (args === undefined) return undefined
    const isBefore = run.event === 'PreToolUse'
    const known = this.#byArguments.get(args)
    const isKnown = known && !(isBefore && known.isSent)
    const call = isKnown ? known.call : ++this.#calls
    if (!isKnown) {
      this.#byArguments.set(args, { call, isSent: !isBefore })
      if (!isBefore) sentAs(args)?.(call)
    }
    if (changed) this.#byArguments.set(changed, { call, isSent: false })
    return call
  }

  /** The call whose arguments are sent now. */
  sent(args: object): number | undefined {
    const known = this.#byArguments.get(args)
    if (known) known.isSent = true
    return known?.call
  }
}
