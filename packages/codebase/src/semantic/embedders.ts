// semantic/embedders.ts: where vectors come from: the model that comes with the install, a model in a folder of the user's, or an
// OpenAI-compatible endpoint. Only the user chooses; nothing in the searched folder can.
import { SEMANTIC_LIMITS } from '../limits.ts'
import type { EmbeddingChoice, EndpointChoice } from './embedding-choice.ts'
import { EndpointEmbedder, endpointAddress } from './endpoint.ts'
import { digestOf, readOnnxFolder } from './model/onnx-folder.ts'
import { MODEL, modelFolder, readModel } from './model/weights.ts'
import { embedInParts, type Passage, wholeOf } from './passage.ts'

export interface Embedder {
  readonly dimensions: number
  /** How many chunks are best given at once. */
  readonly batch: number
  chunks(passages: readonly Passage[]): Promise<Float32Array[]>
  query(text: string): Promise<Float32Array>
}

export interface ModelIdentity {
  /** Its usual name. */
  readonly name: string
  /** Vectors are only ever compared with vectors of the same id. */
  readonly id: string
  readonly dimensions: number
}

/** The model of a choice. Undefined: there is none. Throws when the choice cannot be used. */
export async function identify(choice: EmbeddingChoice): Promise<ModelIdentity | undefined> {
  switch (choice.kind) {
    case 'none':
      return undefined
    case 'built-in': {
      if (modelFolder() === undefined) return undefined
      return { name: MODEL.name, id: MODEL.name, dimensions: MODEL.dimensions }
    }
    case 'onnx': {
      const folder = readOnnxFolder(choice.folder)
      const digest = await digestOf(choice.folder, folder)
      return { name: `${folder.name} (ONNX)`, id: `onnx ${digest}`, dimensions: folder.dimensions }
    }
    case 'endpoint': {
      const { model, dimensions } = choice
      const address = endpointAddress(choice)
      return { name: `${model} at ${address.host}`, id: `${model} ${dimensions} ${address.href}`, dimensions }
    }
  }
}

export async function makeEmbedder(choice: EmbeddingChoice): Promise<Embedder> {
  if (choice.kind === 'endpoint') return endpoint(choice)
  if (choice.kind === 'onnx') return onnx(choice.folder, choice.runtime)
  const folder = choice.kind === 'built-in' ? modelFolder() : undefined
  if (folder === undefined) throw new Error('no model is installed')
  const { Encoder } = await import('./model/encoder.ts')
  const encoder = new Encoder(readModel(folder))
  return local(
    MODEL.dimensions,
    (text) => encoder.count(text),
    (text, purpose) => encoder.embed(text, tokensFor(purpose)),
  )
}

type Purpose = 'chunk' | 'query'

const tokensFor = (purpose: Purpose) =>
  purpose === 'chunk' ? SEMANTIC_LIMITS.modelTokens : SEMANTIC_LIMITS.queryTokens

/** A model that runs here, in this thread, and reads short texts. */
function local(
  dimensions: number,
  count: (text: string) => number,
  embed: (text: string, purpose: Purpose) => Float32Array | Promise<Float32Array>,
): Embedder {
  return {
    dimensions,
    batch: 1,
    async chunks(passages) {
      const vectors: Float32Array[] = []
      for (const passage of passages)
        vectors.push(await embedInParts(passage, count, (text) => embed(text, 'chunk')))
      return vectors
    },
    query: async (text) => embed(text, 'query'),
  }
}

async function onnx(folder: string, runtime: string | undefined): Promise<Embedder> {
  const { OnnxEncoder } = await import('./model/onnx.ts')
  const found = readOnnxFolder(folder)
  const encoder = await OnnxEncoder.open(found, runtime)
  return local(
    found.dimensions,
    (text) => encoder.count(text),
    (text, purpose) => encoder.embed(text, purpose, tokensFor(purpose)),
  )
}

/** Remote models read a whole chunk at once, and every text costs. */
function endpoint(choice: EndpointChoice): Embedder {
  const served = new EndpointEmbedder(choice)
  return {
    dimensions: choice.dimensions,
    batch: SEMANTIC_LIMITS.endpointBatch,
    chunks: (passages) => served.embed(passages.map(wholeOf)),
    async query(text) {
      const [vector] = await served.embed([text])
      return vector ?? new Float32Array(choice.dimensions)
    },
  }
}
