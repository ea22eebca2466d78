// semantic/endpoint.ts: vectors from an OpenAI-compatible embeddings endpoint that the user named. Text goes to that URL and to no
// other: redirects are not followed, and nothing in the searched folder can name a URL.
import { CodebaseError } from '../errors.ts'
import { SEMANTIC_LIMITS } from '../limits.ts'
import type { EndpointChoice } from './embedding-choice.ts'
import { unit } from './vectors.ts'

/** Checks the choice; returns the URL to post to. */
export function endpointAddress({ url, dimensions, apiKey }: EndpointChoice): URL {
  const bad = (message: string, hint: string) => new CodebaseError('BAD_INPUT', message, hint)
  const base = URL.canParse(url) ? new URL(url) : undefined
  if (!base || (base.protocol !== 'http:' && base.protocol !== 'https:'))
    throw bad(
      'The embeddings endpoint is not an http or https URL.',
      'Give one like http://127.0.0.1:11434/v1.',
    )
  if (base.username || base.password)
    throw bad(
      'The embeddings endpoint has a password in its URL.',
      'Put the key into PLUGBOARD_EMBEDDINGS_KEY.',
    )
  if (apiKey !== undefined && base.protocol === 'http:' && !isLoopback(base.hostname))
    throw bad(`The key would go to ${base.host} in the clear.`, 'Use https, or leave the key out.')
  if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > 8192)
    throw bad(
      'The embeddings endpoint needs the number of dimensions (1 to 8192).',
      'The model’s page says it.',
    )
  base.pathname = `${base.pathname.replace(/\/+$/, '')}/embeddings`
  return base
}

const isLoopback = (host: string) => host === 'localhost' || host === '[::1]' || /^127(\.\d+){3}$/.test(host)

export interface EndpointPace {
  readonly timeoutMs: number
  readonly tries: number
  readonly pauseMs: number
}

const PACE: EndpointPace = {
  timeoutMs: SEMANTIC_LIMITS.endpointTimeoutMs,
  tries: SEMANTIC_LIMITS.endpointTries,
  pauseMs: SEMANTIC_LIMITS.endpointPauseMs,
}

type EmbeddingOutcome =
  | { readonly do: 'take'; readonly vectors: Float32Array[] }
  | { readonly do: 'split' }
  | { readonly do: 'retry'; readonly afterMs: number | undefined; readonly error: CodebaseError }
  | { readonly do: 'fail'; readonly error: CodebaseError }

export class EndpointEmbedder {
  readonly dimensions: number
  readonly #address: URL
  readonly #choice: EndpointChoice
  readonly #pace: EndpointPace
  /** How many texts the endpoint takes at once, as far as we know. */
  #batch: number = SEMANTIC_LIMITS.endpointBatch

  constructor(choice: EndpointChoice, pace: EndpointPace = PACE) {
    this.#address = endpointAddress(choice)
    this.#choice = choice
    this.#pace = pace
    this.dimensions = choice.dimensions
  }

  async embed(texts: readonly string[]): Promise<Float32Array[]> {
    const vectors: Float32Array[] = []
    while (vectors.length < texts.length) {
      const some = texts.slice(vectors.length, vectors.length + this.#batch)
      const made = await this.#askPatiently(some)
      if (made) vectors.push(...made)
      else this.#batch = Math.max(1, Math.floor(some.length / 2))
    }
    return vectors
  }

  /** Undefined: it was too much at once. */
  async #askPatiently(texts: readonly string[]): Promise<Float32Array[] | undefined> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#ask(texts)
      if (outcome.do === 'take') return outcome.vectors
      if (outcome.do === 'split') return undefined
      if (outcome.do === 'fail' || attempt >= this.#pace.tries) throw outcome.error
      const pause = outcome.afterMs ?? this.#pace.pauseMs * 2 ** (attempt - 1)
      await new Promise((done) => setTimeout(done, Math.min(pause, SEMANTIC_LIMITS.endpointPauseMaxMs)))
    }
  }

  async #ask(texts: readonly string[]): Promise<EmbeddingOutcome> {
    const { model, apiKey } = this.#choice
    try {
      const response = await fetch(this.#address, {
        method: 'POST',
        redirect: 'manual',
        headers: {
          'Content-Type': 'application/json',
          ...(apiKey !== undefined && { Authorization: `Bearer ${apiKey}` }),
        },
        // Some endpoints refuse an empty text; a blank has no content either.
        body: JSON.stringify({ model, input: texts.map((text) => text || ' '), encoding_format: 'float' }),
        signal: AbortSignal.timeout(this.#pace.timeoutMs),
      })
      if (response.ok) return this.#read(await boundedJson(response), texts.length)
      await response.body?.cancel()
      return this.#refusal(response, texts.length)
    } catch (error) {
      const timedOut = error instanceof Error && error.name === 'TimeoutError'
      const why = timedOut ? `did not answer within ${this.#pace.timeoutMs} ms` : 'could not be reached'
      return { do: 'retry', afterMs: undefined, error: this.#error(why, 'Is it running?', error) }
    }
  }

  #refusal(response: Response, count: number): EmbeddingOutcome {
    const { status } = response
    const said = `answered ${status}`
    if (status === 401 || status === 403) {
      const hint = this.#choice.apiKey ? 'Its key was refused.' : 'Put its key into PLUGBOARD_EMBEDDINGS_KEY.'
      return { do: 'fail', error: this.#error(`${said}. ${hint}`, hint) }
    }
    if (status >= 300 && status < 400)
      return {
        do: 'fail',
        error: this.#error(
          `${said}: it sends us elsewhere, and text goes to no other address.`,
          'Name the final URL.',
        ),
      }
    if ((status === 413 || status === 400 || status === 422) && count > 1) return { do: 'split' }
    if (status === 408 || status === 429 || status >= 500) {
      const seconds = Number(response.headers.get('retry-after') ?? Number.NaN)
      const afterMs = Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : undefined
      return { do: 'retry', afterMs, error: this.#error(said, 'Try again later.') }
    }
    return { do: 'fail', error: this.#error(said, 'Are the URL and the model’s name right?') }
  }

  #read(body: unknown, count: number): EmbeddingOutcome {
    const data = (body as { data?: unknown } | null)?.data
    if (!Array.isArray(data) || data.length !== count)
      return {
        do: 'fail',
        error: this.#error(
          `does not give ${count} vectors for ${count} texts`,
          'Does it speak OpenAI’s embeddings API?',
        ),
      }
    const vectors: Float32Array[] = new Array(count)
    for (const [place, item] of (data as { index?: unknown; embedding?: unknown }[]).entries()) {
      const numbers = item?.embedding
      const index = typeof item?.index === 'number' ? item.index : place
      const found = Array.isArray(numbers) ? numbers.length : 0
      if (found !== this.dimensions)
        return {
          do: 'fail',
          error: this.#error(
            `gives vectors of ${found} numbers, not ${this.dimensions}`,
            `Set the dimensions to ${found}.`,
          ),
        }
      const vector = Float32Array.from(numbers as number[])
      if (!Number.isInteger(index) || index < 0 || index >= count || !vector.every(Number.isFinite))
        return {
          do: 'fail',
          error: this.#error('gives vectors that are not numbers', 'Does it speak OpenAI’s embeddings API?'),
        }
      vectors[index] = unit(vector)
    }
    for (let n = 0; n < count; n++)
      if (!vectors[n])
        return {
          do: 'fail',
          error: this.#error(`gives no vector for text ${n}`, 'Does it speak OpenAI’s embeddings API?'),
        }
    return { do: 'take', vectors }
  }

  #error(what: string, hint: string, cause?: unknown): CodebaseError {
    return new CodebaseError('IO', `The embeddings endpoint ${this.#address.host} ${what}`, hint, cause)
  }
}

async function boundedJson(response: Response): Promise<unknown> {
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of response.body ?? []) {
    size += piece.length
    if (size > SEMANTIC_LIMITS.endpointBytes) throw new Error('the answer is too large')
    pieces.push(piece)
  }
  return JSON.parse(Buffer.concat(pieces).toString('utf8'))
}
