// user-prompts.ts: where questions to the user arrive, one at a time, and are reported to the reader of the run.
// It does not ask by itself: the program says how the user is asked, and what it leaves out is not offered to servers.
import type {
  BoardOptions,
  PermissionAnswer,
  PermissionQuestion,
  Prompt,
  RawAnswer,
  SamplingRequest,
  SamplingResult,
} from '@plugboard/core'
import { cancellable } from '@plugboard/core/async/waits'
import type { SamplingConsent } from '@plugboard/core/interaction'
import type { AskedQuestion, Emit } from './events.ts'
import { type ContentBlock, type Message, textOf } from './messages.ts'
import { record, text } from './models/json.ts'
import { type Model, ModelFailure } from './models/model.ts'

/** How the user is asked. */
export interface UserInterface {
  readonly permit?: (question: PermissionQuestion) => Promise<PermissionAnswer>
  readonly elicit?: (prompt: Prompt, signal?: AbortSignal) => Promise<RawAnswer>
  readonly consent?: (request: SamplingRequest, signal?: AbortSignal) => Promise<SamplingConsent>
}

/**
 * Asks the user on behalf of servers and permissions, one question at a time.
 *
 * @example
 * const prompts = new UserPrompts({ permit: async () => 'once' })
 * const own = await openBoard({ servers: {}, ...prompts.ports() })
 * await own.close()
 */
export class UserPrompts {
  readonly #ui: UserInterface
  readonly #listeners = new Set<Emit>()
  #last: Promise<unknown> = Promise.resolve()

  constructor(ui: UserInterface) {
    this.#ui = ui
  }

  /** What `openBoard` takes: with a model, servers may use it when the user agrees. */
  ports(model?: Model): Pick<BoardOptions, 'ask' | 'elicit' | 'sample'> {
    const { permit, elicit, consent } = this.#ui
    return {
      ...(permit && { ask: (question) => this.#permit(permit, question) }),
      ...(elicit && { elicit: (prompt, signal) => this.#elicit(elicit, prompt, signal) }),
      ...(consent &&
        model && {
          sample: {
            model: (request, signal) => sampleWith(model, request, signal),
            consent: (request, signal) => this.#consent(consent, request, signal),
          },
        }),
    }
  }

  /** Reports questions and answers; the returned function stops it. */
  listen(listener: Emit): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async #permit(
    permit: NonNullable<UserInterface['permit']>,
    question: PermissionQuestion,
  ): Promise<PermissionAnswer> {
    const { request, reason, answers, signal } = question
    return await this.#inTurn(
      {
        kind: 'permission',
        server: request.server,
        tool: request.name,
        arguments: question.arguments,
        reason: reason.text,
        answers,
      },
      () => permit(question),
      (answer) => answer,
      signal,
    )
  }

  async #elicit(
    elicit: NonNullable<UserInterface['elicit']>,
    prompt: Prompt,
    signal: AbortSignal | undefined,
  ): Promise<RawAnswer> {
    const { server, message } = prompt
    const asked: AskedQuestion =
      prompt.mode === 'form'
        ? { kind: 'form', server, message, fields: prompt.form.fields.map(({ name }) => name) }
        : { kind: 'url', server, message, url: prompt.url.href }
    return await this.#inTurn(
      asked,
      () => elicit(prompt, signal),
      ({ action }) => action,
      signal,
    )
  }

  async #consent(
    consent: NonNullable<UserInterface['consent']>,
    request: SamplingRequest,
    signal: AbortSignal | undefined,
  ): Promise<SamplingConsent> {
    return await this.#inTurn(
      { kind: 'sampling', server: request.server, maxTokens: request.maxTokens },
      () => consent(request, signal),
      (answer) => answer,
      signal,
    )
  }

  /** A user reads one question at a time; a question without a waiting caller is not asked. */
  async #inTurn<T>(
    question: AskedQuestion,
    ask: () => Promise<T>,
    said: (answer: T) => string,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    const before = this.#last
    let free: () => void = () => undefined
    this.#last = new Promise<void>((resolve) => {
      free = resolve
    })
    try {
      await cancellable(before, signal)
      this.#tell({ type: 'ask', question })
      // The reader of the run catches up before the question is on the screen.
      await new Promise((read) => setImmediate(read))
      const answer = await cancellable(ask(), signal)
      this.#tell({ type: 'answer', kind: question.kind, answer: said(answer) })
      return answer
    } finally {
      // A caller that gave up must not let the next question in before the one on the screen is answered.
      before.then(free, free)
    }
  }

  #tell(event: Parameters<Emit>[0]): void {
    for (const listener of this.#listeners) listener(event)
  }
}

/** A server's request to the model: no tools, and nothing of our conversation. */
async function sampleWith(
  model: Model,
  request: SamplingRequest,
  signal?: AbortSignal,
): Promise<SamplingResult> {
  const { systemPrompt, temperature, stopSequences, maxTokens } = request
  let answer = ''
  const events = model.stream(
    {
      messages: request.messages.map(sampledMessage),
      tools: [],
      maxTokens,
      ...(systemPrompt !== undefined && { system: systemPrompt }),
      ...(temperature !== undefined && { temperature }),
      ...(stopSequences !== undefined && { stopSequences }),
    },
    signal,
  )
  for await (const event of events) {
    if (event.type === 'text') answer += event.text
    if (event.type === 'stop')
      return {
        role: 'assistant',
        content: { type: 'text', text: answer },
        model: model.id,
        stopReason: SAMPLING_STOPS[event.reason] ?? 'endTurn',
        ...(event.usage && { tokens: event.usage.inputTokens + event.usage.outputTokens }),
      }
  }
  throw new ModelFailure('cut', "The model's answer ended early.")
}

const SAMPLING_STOPS: Readonly<Record<string, string>> = {
  length: 'maxTokens',
  'stop-sequence': 'stopSequence',
}

function sampledMessage({ role, content }: SamplingRequest['messages'][number]): Message {
  const blocks = (Array.isArray(content) ? content : [content]).flatMap(sampledBlock)
  if (role === 'user') return { role, content: blocks }
  return { role, text: textOf(blocks), calls: [] }
}

function sampledBlock(value: unknown): ContentBlock[] {
  const block = record(value)
  if (block.type === 'text') return [{ type: 'text', text: text(block.text) }]
  if (block.type === 'image' && typeof block.data === 'string')
    return [{ type: 'image', data: block.data, mimeType: text(block.mimeType) || 'image/png' }]
  return [{ type: 'text', text: `[${text(block.type) || 'something'}, which this model does not support]` }]
}
