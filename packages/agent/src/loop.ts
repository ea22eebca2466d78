// loop.ts: the conversation between a model and its tools: ask, call, return results, until the model calls nothing more.
// It owns the order of steps; what a model, a tool or a question is lives beside it.
import { linked } from '@plugboard/core/async/waits'
import { Cancelled, isPlugboardError, PlugboardError } from '@plugboard/core/errors'
import { type Host, systemHost } from '@plugboard/core/host'
import { BoardTools, type ToolBoard } from './board-tools.ts'
import { conversationTokens, cutFor, summaryRequest, withSummary } from './compaction.ts'
import { EventChannel } from './event-channel.ts'
import type { AgentEvent, DoneReason, Emit } from './events.ts'
import { AGENT_LIMITS } from './limits.ts'
import type { Message, Usage } from './messages.ts'
import { type PartialTurn, requestTurn, type TurnRequest } from './model-turn.ts'
import type { Model } from './models/model.ts'
import { type AgentKind, agentTool } from './sub-agent.ts'
import type { AgentTool, OfferedTools, Toolbox } from './toolbox.ts'
import type { UserPrompts } from './user-prompts.ts'

/**
 * What a run is given.
 *
 * @example
 * const options: RunOptions = {
 *   board,
 *   model,
 *   messages: [userMessage('Hello')],
 *   system: 'Answer in one word.',
 *   only: ['mcp__notes__say'],
 *   maxTurns: 5,
 *   signal: AbortSignal.timeout(60_000),
 * }
 * for await (const event of runAgent(options)) if (event.type === 'text') console.log(event.text) // Hi.
 */
export interface RunOptions {
  readonly model: Model
  /** The conversation so far, with the user's new message at its end. */
  readonly messages: readonly Message[]
  readonly system?: string
  /** Where the tools come from; or give a `toolbox` that is kept from message to message. */
  readonly board?: ToolBoard
  readonly toolbox?: Toolbox
  /** Tools of the program itself, beside the board's. */
  readonly tools?: readonly AgentTool[]
  /** Only these of the board's tools. */
  readonly only?: readonly string[]
  /** What the `agent` tool may start; `false` leaves it out. */
  readonly subAgents?: readonly AgentKind[] | false
  /** Who answers questions; its questions become events of this run. */
  readonly userPrompts?: UserPrompts
  readonly signal?: AbortSignal
  readonly maxTurns?: number
  readonly host?: Host
  /** Learns every message at once, to keep a conversation that a crash ends. */
  readonly log?: ConversationLog
  /** How a retry waits. */
  readonly pause?: TurnRequest['pause']
}

/** What a program keeps of a conversation while it goes on. */
export interface ConversationLog {
  append(message: Message): void
  /** The conversation was compacted: these messages stand for all before them. */
  replace(messages: readonly Message[]): void
}

/**
 * Runs a conversation until the model has answered, as a stream of events that ends with `done`. It does not throw for
 * what a model, a tool or a server does; leaving the loop early stops the running calls.
 *
 * @example
 * const model = chooseModel({ host: systemHost() })
 * for await (const event of runAgent({ board, model, messages: [userMessage('Which tests are slow?')] }))
 *   if (event.type === 'text') process.stdout.write(event.text)
 */
export async function* runAgent(options: RunOptions): AsyncGenerator<AgentEvent, void, void> {
  const channel = new EventChannel<AgentEvent>(AGENT_LIMITS.bufferedEvents)
  const stop = linked(options.signal)
  const emit: Emit = (event) => channel.push(event)
  const unlisten = options.userPrompts?.listen(emit)
  const run = new Run(options, emit, stop.signal, () => channel.room())
  const work = run.go().finally(() => {
    unlisten?.()
    stop.release()
    channel.close()
  })
  try {
    yield* channel
  } finally {
    stop.abort()
    channel.close()
    await work
  }
}

class Run {
  readonly #options: RunOptions
  readonly #emit: Emit
  readonly #signal: AbortSignal
  readonly #asking: TurnRequest
  readonly #toolbox: Toolbox
  #messages: readonly Message[]
  #usage: Usage = { inputTokens: 0, outputTokens: 0 }
  #turn = 0
  #text = ''
  /** How full the window was at the last request, as the model counted. */
  #contextUsed = 0

  constructor(options: RunOptions, emit: Emit, signal: AbortSignal, room: () => Promise<void>) {
    const host = options.host ?? systemHost()
    this.#options = options
    this.#emit = emit
    this.#signal = signal
    this.#asking = { host, emit, signal, room, ...(options.pause && { pause: options.pause }) }
    this.#toolbox = options.toolbox ?? toolboxOf(options, host)
    this.#messages = options.messages
  }

  async go(): Promise<void> {
    let reason: DoneReason
    try {
      reason = await this.#turns()
    } catch (error) {
      reason = this.#signal.aborted || error instanceof Cancelled ? 'aborted' : 'error'
      if (reason === 'error') this.#emit({ type: 'error', error: errorJson(error) })
    }
    this.#emit({
      type: 'done',
      reason,
      text: this.#text,
      turns: this.#turn,
      usage: this.#usage,
      messages: this.#messages,
    })
  }

  async #turns(): Promise<DoneReason> {
    const { model, maxTurns = AGENT_LIMITS.turns } = this.#options
    while (this.#turn < maxTurns) {
      if (this.#signal.aborted) return 'aborted'
      const offer = await this.#toolbox.offer(model.contextTokens, this.#signal)
      await this.#compactIfFull(offer)
      this.#turn++
      this.#emit({ type: 'turn', turn: this.#turn, model: model.id, tools: offer.figures })
      const { message, stop } = await this.#ask(offer)
      this.#append(message)
      this.#text = message.text
      if (message.calls.length === 0) return stop === 'length' || stop === 'refusal' ? stop : 'end'
      const { results, aborted } = await this.#toolbox.run(message.calls, this.#emit, this.#signal)
      this.#append({ role: 'results', results })
      if (aborted) return 'aborted'
    }
    return 'turn-limit'
  }

  async #ask(offer: OfferedTools) {
    const { model, system } = this.#options
    const parts = [system, offer.notes].filter((part) => part !== undefined && part !== '')
    const partial: PartialTurn = { text: '' }
    try {
      const answer = await requestTurn(
        model,
        {
          messages: this.#messages,
          tools: offer.tools,
          ...(parts.length > 0 && { system: parts.join('\n\n') }),
        },
        this.#asking,
        partial,
      )
      this.#count(answer.usage)
      return answer
    } catch (error) {
      // What the model said before it was stopped is part of the conversation.
      if (partial.text.trim() !== '') {
        this.#text = partial.text
        this.#append({ role: 'assistant', text: partial.text, calls: [] })
      }
      throw error
    }
  }

  #append(message: Message): void {
    this.#messages = [...this.#messages, message]
    this.#options.log?.append(message)
  }

  #count(usage: Usage | undefined): void {
    if (!usage) return
    this.#contextUsed = usage.inputTokens + usage.outputTokens
    this.#usage = {
      inputTokens: this.#usage.inputTokens + usage.inputTokens,
      outputTokens: this.#usage.outputTokens + usage.outputTokens,
    }
    this.#emit({ type: 'usage', usage, contextTokens: this.#options.model.contextTokens })
  }

  async #compactIfFull(offer: OfferedTools): Promise<void> {
    const { model } = this.#options
    const limit = model.contextTokens * AGENT_LIMITS.compactShare
    const estimated = conversationTokens(this.#messages) + offer.figures.sentTokens
    if (Math.max(estimated, this.#contextUsed) <= limit) return
    const cut = cutFor(this.#messages, model.contextTokens)
    if (!cut) return
    const silent = {
      ...this.#asking,
      emit: (event: AgentEvent) => event.type === 'retry' && this.#emit(event),
    }
    const summary = await requestTurn(model, summaryRequest(cut.older, model.contextTokens), silent)
    this.#count(summary.usage)
    const tokensBefore = conversationTokens(this.#messages)
    this.#messages = withSummary(summary.message.text, cut.kept)
    this.#options.log?.replace(this.#messages)
    this.#contextUsed = 0
    this.#emit({ type: 'compacted', tokensBefore, tokensAfter: conversationTokens(this.#messages) })
  }
}

/**
 * What a summary is made of, and by which model.
 *
 * @example
 * const options: CompactOptions = { model, messages, signal: AbortSignal.timeout(30_000) }
 * const shorter = await compactConversation(options)
 * console.log(shorter !== undefined) // true
 */
export interface CompactOptions {
  readonly model: Model
  readonly messages: readonly Message[]
  readonly host?: Host
  readonly signal?: AbortSignal
}

/**
 * Makes a summary of a conversation now, as a run does by itself when the window is nearly full; undefined when there
 * is nothing to summarise.
 *
 * @example
 * const shorter = await compactConversation({ model, messages })
 */
export async function compactConversation(
  options: CompactOptions,
): Promise<{ readonly messages: readonly Message[]; readonly usage: Usage | undefined } | undefined> {
  const { model, messages, host = systemHost(), signal = new AbortController().signal } = options
  if (messages.length < 2) return undefined
  const summary = await requestTurn(model, summaryRequest(messages, model.contextTokens), {
    host,
    signal,
    emit: () => undefined,
  })
  return { messages: withSummary(summary.message.text, []), usage: summary.usage }
}

/** Without a board or a toolbox it is a plain conversation, with the program's own tools if it has any. */
function toolboxOf(options: RunOptions, host: Host): Toolbox {
  const { board = NO_BOARD, model, only, subAgents, tools = [] } = options
  const starts = options.board !== undefined && subAgents !== false
  const own = starts
    ? [...tools, agentTool({ board, model, host, run: runAgent, ...(subAgents && { kinds: subAgents }) })]
    : tools
  return new BoardTools({ board, host, own, ...(only && { only }) })
}

const NO_BOARD: ToolBoard = {
  tools: () => [],
  servers: () => [],
  ready: async () => undefined,
  call: async () => {
    throw new PlugboardError('TOOL_NOT_FOUND', 'There is no such tool.')
  },
}

function errorJson(error: unknown) {
  if (isPlugboardError(error)) return error.toJSON()
  const message = error instanceof Error ? error.message : String(error)
  return new PlugboardError('IO_ERROR', message).toJSON()
}
