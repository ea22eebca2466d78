// meaning/embedders.ts: where vectors come from: the model that comes with the install, or an OpenAI-compatible endpoint of
// the user's. Made inside the worker thread.
import { MEANING_LIMITS } from '../limits.ts'
import { MODEL, modelFolder, readModel } from './model/weights.ts'

export type EmbeddingChoice =
  | { readonly kind: 'built-in' }
  | { readonly kind: 'none' }
  | {
      readonly kind: 'endpoint'
      /** The base URL, e.g. `http://127.0.0.1:11434/v1`; `/embeddings` is added. */
      readonly url: string
      readonly model: string
      readonly dimensions: number
      readonly apiKey?: string
    }

export interface Embedder {
  readonly dimensions: number
  embed(texts: readonly string[], purpose: 'chunk' | 'query'): Promise<Float32Array[]>
}

/** What a choice is called, and what its vectors must not be mixed with. Undefined: there are none. */
export function modelName(choice: EmbeddingChoice): string | undefined {
  if (choice.kind === 'none') return undefined
  if (choice.kind === 'endpoint') return `${choice.model} at ${new URL(choice.url).host}`
  return modelFolder() === undefined ? undefined : MODEL.name
}

export const dimensionsOf = (choice: EmbeddingChoice) =>
  choice.kind === 'endpoint' ? choice.dimensions : MODEL.dimensions

export async function makeEmbedder(choice: EmbeddingChoice): Promise<Embedder> {
  if (choice.kind === 'endpoint') return endpoint(choice)
  const folder = choice.kind === 'built-in' ? modelFolder() : undefined
  if (folder === undefined) throw new Error('no model is installed')
  const { Encoder } = await import('./model/encoder.ts')
  const encoder = new Encoder(readModel(folder))
  return {
    dimensions: MODEL.dimensions,
    embed: async (texts, purpose) =>
      texts.map((text) =>
        encoder.embed(text, purpose === 'chunk' ? MEANING_LIMITS.modelTokens : MEANING_LIMITS.queryTokens),
      ),
  }
}

function endpoint(choice: EmbeddingChoice & { readonly kind: 'endpoint' }): Embedder {
  const url = `${choice.url.replace(/\/+$/, '')}/embeddings`
  return {
    dimensions: choice.dimensions,
    async embed(texts) {
      const response = await fetch(url, {
        method: 'POST',
        redirect: 'error',
        headers: {
          'Content-Type': 'application/json',
          ...(choice.apiKey !== undefined && { Authorization: `Bearer ${choice.apiKey}` }),
        },
        body: JSON.stringify({ model: choice.model, input: texts }),
        signal: AbortSignal.timeout(MEANING_LIMITS.endpointTimeoutMs),
      })
      if (!response.ok) throw new Error(`the embeddings endpoint answered ${response.status}`)
      const { data } = (await response.json()) as {
        data: readonly { index: number; embedding: readonly number[] }[]
      }
      const sorted = [...data].sort((a, b) => a.index - b.index)
      if (
        sorted.length !== texts.length ||
        sorted.some(({ embedding }) => embedding.length !== choice.dimensions)
      )
        throw new Error(`the embeddings endpoint does not give vectors of ${choice.dimensions} numbers`)
      return sorted.map(({ embedding }) => unit(Float32Array.from(embedding)))
    },
  }
}

function unit(vector: Float32Array): Float32Array {
  let squares = 0
  for (const value of vector) squares += value * value
  const factor = 1 / Math.sqrt(squares || 1)
  return vector.map((value) => value * factor)
}
