// server-requests.ts: routes a server's request (elicitation, sampling, roots) to the client whose call it belongs to, and to no
// other. Where that cannot be told, the request is refused: an answer of the wrong user is worse than none.
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type BoardOptions,
  type ConfiguredServer,
  JsonRpcError,
  type PermissionAnswer,
  type PermissionQuestion,
  type RequestHandler,
  type RequestHandlers,
  type ServerRequestContext,
  type TaskState,
} from '@plugboard/core'
import { type Linked, LinkedSet } from '@plugboard/core/async/linked-set'
import { postsMessages } from '@plugboard/core/config/transport-traits'
import { PermissionDenied } from '@plugboard/core/errors'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { permissionQuestion } from '@plugboard/core/permissions'
import { plainQuestion } from '@plugboard/core/text/question-text'
import { CallEnded, type Client, type ClientRequest } from '../client-request.ts'
import { serverFault } from '../errors.ts'
import { declared, type Era, isObject, type Json, META, metaOf, RPC, readCapabilities } from '../json-rpc.ts'
import { UI_CAPABILITY, UI_EXTENSION } from '../views/apps.ts'
import { ClientTurns, type TurnCall, type TurnWaits } from './client-turns.ts'
import { elicitPermission } from './permission-elicitation.ts'

/** What a board must be opened with to run behind a gateway. */
export type Wiring = Pick<BoardOptions, 'caller' | 'ask' | 'askForClients' | 'requestHandlers'>
/** Who answers a call that needs permission: the client in its own way, the client through an elicitation, or nobody. */
export type AskPolicy = 'client' | 'elicit' | 'deny'

/** A user does not read more than this in a client's form. */
const QUESTION_CHARS = 16_000

interface RunningCall extends TurnCall, Linked<RunningCall> {
  over: boolean
  /** Questions of this call that its client has not answered yet. */
  asked: number
  /** The server's id of the task that the call became. */
  task?: string
}

type Asker = Pick<ClientRequest, 'client' | 'ask'> & { readonly call?: RunningCall }

export class ServerRequestRouter {
  readonly #policy: AskPolicy
  /** Set by a transport with a single client: then every request goes to it. */
  #only: Client | undefined
  #onlyAsk: ClientRequest['ask'] | undefined
  readonly #calls = new Map<string, LinkedSet<RunningCall>>()
  readonly #current = new AsyncLocalStorage<RunningCall>()
  readonly #turns: ClientTurns
  /** Servers over Streamable HTTP: even legacy ones ask on the stream of the call they ask for. */
  readonly #streaming = new Set<string>()
  #eraOf: (server: string) => Era | undefined = () => undefined
  /** The roots of the board itself, for servers that ask outside any call. */
  readonly #roots: () => Json

  constructor(policy: AskPolicy, roots: () => Json, waits?: TurnWaits) {
    this.#policy = policy
    this.#roots = roots
    this.#turns = new ClientTurns((server) => this.#workedOn(server), waits)
  }

  /** The board was opened with the wiring: from now on the eras of its servers are known. */
  bind(eraOf: (server: string) => Era | undefined): void {
    this.#eraOf = eraOf
  }

  /** A modern server puts its questions inside results, so the call they belong to is known. */
  eraOf(server: string): Era | undefined {
    return this.#eraOf(server)
  }

  wiring(): Wiring {
    return {
      caller: 'client',
      askForClients: this.#policy !== 'client',
      ...(this.#policy === 'elicit' && { ask: (question) => this.#askPermission(question) }),
      requestHandlers: (server) => this.#handlers(server),
    }
  }

  setOnly(client: Client, ask: ClientRequest['ask']): void {
    this.#only = client
    this.#onlyAsk = ask
  }

  /** The client whose call runs now, and whether it can show a question to its user. */
  currentClient(): { readonly name: string | undefined; readonly canBeAsked: boolean } | undefined {
    const client = this.#current.getStore()?.request.client
    return client && { name: client.name, canBeAsked: client.capabilities.elicitForm === true }
  }

  isOnly(client: Client): boolean {
    return this.#only === client
  }

  /**
   * Runs work for a client's request; questions that come out of it go to its client. `what` is the tool that is called,
   * where the server's questions do not name their call: then the call may have to wait for those of other clients.
   */
  async during<T>(
    server: string,
    request: ClientRequest,
    work: (onTask: (task: TaskState) => void) => Promise<T>,
    what?: string,
  ): Promise<T> {
    const takesTurns = this.#takesTurns(server)
    const call: RunningCall = { server, request, what, over: false, asked: 0, hasAsked: false }
    const onTask = (task: TaskState) => {
      call.task = task.taskId
      request.onTask?.(task)
    }
    const calls = this.#callsOf(server)
    if (!takesTurns || what === undefined) calls.add(call)
    else await this.#turns.enter(call, what, () => calls.add(call))
    let answered = false
    try {
      const result = await (this.#tracksCalls(server) ? this.#current.run(call, work, onTask) : work(onTask))
      answered = true
      return result
    } catch (error) {
      answered = serverFault(error) !== undefined
      throw error
    } finally {
      call.over = true
      calls.delete(call)
      if (takesTurns) this.#turns.left(call, answered)
    }
  }

  #callsOf(server: string): LinkedSet<RunningCall> {
    let calls = this.#calls.get(server)
    if (!calls) {
      calls = new LinkedSet()
      this.#calls.set(server, calls)
    }
    return calls
  }

  /** A legacy server on one pipe asks without saying for which call; with a single client that does not matter. */
  #takesTurns(server: string): boolean {
    return this.#only === undefined && !this.#streaming.has(server) && this.eraOf(server) === 'legacy'
  }

  /** Whether it matters which call a question comes from; tracking makes every promise more expensive. */
  #tracksCalls(server: string): boolean {
    return this.#policy === 'elicit' || this.eraOf(server) !== 'legacy' || this.#streaming.has(server)
  }

  /** A server that asks inside its result has stopped working on the call until it is called again. */
  async #pausedWhile<T>(server: string, work: () => Promise<T>): Promise<T> {
    const call = this.eraOf(server) === 'modern' ? this.#current.getStore() : undefined
    const calls = this.#calls.get(server)
    if (!call || !calls || call.server !== server) return await work()
    calls.delete(call)
    try {
      return await work()
    } finally {
      if (!call.over) calls.add(call)
    }
  }

  /**
   * The calls that a server's message can be about. A call whose client was asked and has not answered, or is
   * disconnected, is not being worked on: it must not make the questions of others ambiguous.
   */
  #candidates(server: string): readonly RunningCall[] {
    const running = this.#workedOn(server)
    return running.length > 0 ? running : (this.#calls.get(server)?.list() ?? [])
  }

  #workedOn(server: string): readonly RunningCall[] {
    const all = this.#calls.get(server)?.list() ?? []
    return all.filter(({ asked, request }) => asked === 0 && request.away?.() !== true)
  }

  /** The one client that a server's message can be about. */
  clientOf(server: string): Client | undefined {
    const candidates = this.#candidates(server)
    return candidates.length === 0 ? this.#only : clientOfAll(candidates)
  }

  /** The client, and where there is only one the request, that a server's notification can be about. */
  aboutCall(server: string): { readonly client?: Client; readonly request?: ClientRequest } {
    if (!this.#calls.get(server)?.size) return this.#only ? { client: this.#only } : {}
    const request = this.#callOf(server)?.request
    return request ? { client: request.client, request } : {}
  }

  #callOf(server: string): RunningCall | undefined {
    const candidates = this.#candidates(server)
    return clientOfAll(candidates) === undefined ? undefined : candidates.at(-1)
  }

  #handlers({ name, entry }: ConfiguredServer): RequestHandlers {
    if (postsMessages(entry)) this.#streaming.add(name)
    const pass =
      (method: string): RequestHandler =>
      (params, asking) =>
        retryWhenCallEnded(() => this.#pass(name, method, params, asking))
    return {
      elicitForm: pass('elicitation/create'),
      elicitUrl: pass('elicitation/create'),
      sampling: pass('sampling/createMessage'),
      samplingTools: true,
      roots: (params, asking) => retryWhenCallEnded(() => this.#rootsFor(name, params, asking)),
      together: true,
      extensions: { [UI_EXTENSION]: UI_CAPABILITY },
    }
  }

  #asker(server: string, params: Json, inCall: boolean): Asker | undefined {
    const task = taskOf(params)
    if (task !== undefined) return asAsker(this.#callOfTask(server, task)) ?? this.#onlyClient()
    // In the legacy era a question may arrive on its own: then only the running calls tell whose it may be.
    const here = inCall || this.eraOf(server) === 'modern' ? this.#current.getStore() : undefined
    return asAsker(here?.server === server ? here : this.#callOf(server)) ?? this.#onlyClient()
  }

  /** Where several clients may be meant, the question waits until the calls of only one of them are left. */
  async #clearAsker(server: string, params: Json, asking: ServerRequestContext): Promise<Asker | undefined> {
    const find = () => this.#asker(server, params, asking.inCall)
    const now = find()
    if (!this.#takesTurns(server)) return now
    const candidates = this.#candidates(server)
    this.#turns.asked(server, candidates)
    if (now || candidates.length === 0) return now
    await this.#turns.hold(server, () => find() !== undefined, asking.signal)
    return find()
  }

  #onlyClient(): Asker | undefined {
    return this.#only && this.#onlyAsk && { client: this.#only, ask: this.#onlyAsk }
  }

  /**
   * A task's question names its task. Nothing else that a question may carry tells the call it is for. If no call
   * has that task, it may belong to a call whose task is not known yet; never to a client that left.
   */
  #callOfTask(server: string, task: string): RunningCall | undefined {
    const own = this.#calls
      .get(server)
      ?.list()
      .find((call) => call.task === task)
    if (own) return own
    const open = this.#candidates(server).filter((call) => call.task === undefined)
    return clientOfAll(open) === undefined ? undefined : open[0]
  }

  #whyUnroutable(server: string): string {
    const callers = new Set(this.#candidates(server).map(({ request }) => request.client.id))
    return callers.size === 0
      ? 'No client is calling this server, so no client can be asked.'
      : `It is not clear which of ${callers.size} clients this question is for: all of them are calling this server, and it does not say. Call again when no other client is calling it.`
  }

  async #pass(server: string, method: string, params: Json, asking: ServerRequestContext): Promise<Json> {
    const asker = await this.#clearAsker(server, params, asking)
    if (!asker) throw new JsonRpcError(RPC.internal, this.#whyUnroutable(server))
    const missing = missingFor(method, params, asker.client)
    if (missing)
      throw new JsonRpcError(
        RPC.missingCapability,
        `The client cannot be asked: it does not declare ${namesOf(missing)}.`,
        { requiredCapabilities: missing },
      )
    return await this.#ask(asker, method, params, asking)
  }

  async #ask(asker: Asker, method: string, params: Json, asking: ServerRequestContext): Promise<Json> {
    const { server, signal, key, requestState } = asking
    const { call } = asker
    // The call knows the instance that asks: the gateway's own connection may not be up.
    const isOfAnswer = key !== undefined && this.eraOf(call?.server ?? server) === 'modern'
    const origin = isOfAnswer ? { server, key, requestState } : undefined
    if (call) call.asked++
    // A call whose client is being asked does not keep other clients from their turn.
    if (call) this.#turns.asked(server, [call])
    try {
      return await this.#pausedWhile(server, () => asker.ask(method, withoutTask(params), signal, origin))
    } finally {
      if (call) call.asked--
    }
  }

  async #rootsFor(server: string, params: Json, asking: ServerRequestContext): Promise<Json> {
    const asker = this.#asker(server, params, asking.inCall)
    if (asker?.client.capabilities.roots) return await this.#ask(asker, 'roots/list', params, asking)
    // A modern server was told what the client has, and asks for roots all the same.
    if (asker && this.eraOf(server) === 'modern')
      throw new JsonRpcError(RPC.missingCapability, 'The client has no roots.', {
        requiredCapabilities: { roots: {} },
      })
    return this.#roots()
  }

  async #askPermission(question: PermissionQuestion): Promise<PermissionAnswer> {
    const call = this.#current.getStore()
    if (!call?.request.client.capabilities.elicitForm) return 'no'
    const { request } = call
    const message = wholeQuestion(question)
    // Until the client has answered, the server does not know of the call.
    call.asked++
    const asking = elicitPermission(request, message, question.signal)
    const allowed = await asking.finally(() => call.asked--)
    return allowed ? 'once' : 'no'
  }
}

function asAsker(call: RunningCall | undefined): Asker | undefined {
  return call && { client: call.request.client, ask: (...asked) => call.request.ask(...asked), call }
}

/** The client of all these calls, when it is one. */
function clientOfAll(calls: readonly RunningCall[]): Client | undefined {
  const [first, ...more] = calls
  const client = first?.request.client
  return more.every(({ request }) => request.client.id === client?.id) ? client : undefined
}

/** A client shows the text in its own way, so all of it is sent. A text too long to read is refused, never cut. */
function wholeQuestion(question: Pick<PermissionQuestion, 'request' | 'reason' | 'arguments'>): string {
  const text = permissionQuestion({ ...question, saves: undefined })
  const message = plainQuestion(text)
  if (text.complete && message.length <= QUESTION_CHARS) return message
  const { server, tool } = question.request
  throw new PermissionDenied(
    `The question whether ${server}.${tool} may be called is too long to be shown in full (${message.length} characters, the limit is ${QUESTION_CHARS}), so the call was refused.`,
    {
      server,
      stage: 'call',
      hint: 'Call it with shorter arguments, or allow it beforehand with a rule under `permissions.allow`.',
    },
  )
}

/**
 * Of several calls of one client any may carry a question of a legacy server. A call that ends first, with its
 * response, has not carried it: then the next call does.
 */
async function retryWhenCallEnded<T>(put: () => Promise<T>): Promise<T> {
  for (let carriers = 1; ; carriers++) {
    try {
      return await put()
    } catch (error) {
      if (!(error instanceof CallEnded) || carriers >= GATEWAY_LIMITS.openPerClient) throw error
    }
  }
}

/** Tasks are between us and the server. */
function withoutTask(params: Json): Json {
  const { [META.relatedTask]: related, ...meta } = metaOf(params)
  return related === undefined ? params : { ...params, _meta: meta }
}

/** The capabilities by the names they are declared with: `elicitation.form`. */
function namesOf(capabilities: Json): string {
  return Object.entries(capabilities)
    .map(([name, parts]) => [name, ...(isObject(parts) ? Object.keys(parts) : [])].join('.'))
    .join(', ')
}

function missingFor(method: string, params: Json, { capabilities }: Client): Json | undefined {
  const lacks = (needed: Json) => declared(readCapabilities(needed))
  if (method === 'sampling/createMessage') {
    if (!capabilities.sampling) return lacks({ sampling: {} })
    return params.tools !== undefined && !capabilities.samplingTools
      ? lacks({ sampling: { tools: {} } })
      : undefined
  }
  if (params.mode === 'url') return capabilities.elicitUrl ? undefined : { elicitation: { url: {} } }
  return capabilities.elicitForm ? undefined : { elicitation: { form: {} } }
}

function taskOf(params: Json): string | undefined {
  const related = metaOf(params)[META.relatedTask]
  const task = isObject(related) ? related.taskId : undefined
  return typeof task === 'string' ? task : undefined
}
