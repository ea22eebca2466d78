// semantic/embedding-choice.ts: which model a user may choose, as data. It imports nothing, so that a program can name a choice without the
// types of anything behind it.

/** Which model makes the vectors. */
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

export interface EndpointChoice {
  readonly kind: 'endpoint'
  /** The base URL, e.g. `http://127.0.0.1:11434/v1`; `/embeddings` is added. */
  readonly url: string
  readonly model: string
  readonly dimensions: number
  readonly apiKey?: string
}
