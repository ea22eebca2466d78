// meaning/embedders.ts: where vectors come from: the model that comes with the install, a model in a folder of the user's, or an
// OpenAI-compatible endpoint. The choice is the user's alone; nothing in the folder that is searched can make it.
import { MEANING_LIMITS } from '../limits.ts'
import { type EndpointChoice, EndpointEmbedder, endpointAddress } from './endpoint.ts'
import { digestOf, readOnnxFolder } from './model/onnx-folder.ts'
import { MODEL, modelFolder, readModel } from './model/weights.ts'

export type EmbeddingChoice =
  | { readonly kind: 'built-in' }
  | { readonly kind: 'none' }
  | {
      readonly kind: 'onnx'
      /** A folder in the layout of sentence-transformers: model.onnx, tokenizer.json, config.json. */
      readonly folder: string
      /** A folder whose node_modules has ONNX Runtime, when it is not installed beside this package. */
      readonly runtime?: string
    }
  | EndpointChoice

export interface Embedder {
  readonly dimensions: number
  embed(texts: readonly string[], purpose: 'chunk' | 'query'): Promise<Float32Array[]>
}

export interface ModelIdentity {
  /** What people call it. */
  readonly name: string
  /** Vectors are only ever compared with vectors of the same id. */
  readonly id: string
  readonly dimensions: number
}

/** Which model a choice means. Undefined: there is none. Throws when the choice cannot be followed. */
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
  if (choice.kind === 'endpoint') return new EndpointEmbedder(choice)
  if (choice.kind === 'onnx') return onnx(choice.folder, choice.runtime)
  const folder = choice.kind === 'built-in' ? modelFolder() : undefined
  if (folder === undefined) throw new Error('no model is installed')
  const { Encoder } = await import('./model/encoder.ts')
  const encoder = new Encoder(readModel(folder))
  return {
    dimensions: MODEL.dimensions,
    embed: async (texts, purpose) => texts.map((text) => encoder.embed(text, tokensFor(purpose))),
  }
}

async function onnx(folder: string, runtime: string | undefined): Promise<Embedder> {
  const { OnnxEncoder } = await import('./model/onnx.ts')
  const found = readOnnxFolder(folder)
  const encoder = await OnnxEncoder.open(found, runtime)
  return {
    dimensions: found.dimensions,
    async embed(texts, purpose) {
      const vectors: Float32Array[] = []
      for (const text of texts) vectors.push(await encoder.embed(text, purpose, tokensFor(purpose)))
      return vectors
    },
  }
}

const tokensFor = (purpose: 'chunk' | 'query') =>
  purpose === 'chunk' ? MEANING_LIMITS.modelTokens : MEANING_LIMITS.queryTokens
