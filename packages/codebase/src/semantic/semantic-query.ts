// semantic/semantic-query.ts: the query of a semantic search and its result: types only.

export type SemanticMode = 'hybrid' | 'vector' | 'text'

export interface SemanticQuery {
  readonly query: string
  readonly mode: SemanticMode
  readonly language: string | undefined
  readonly path: string | undefined
  readonly maxResults: number
}

export interface SemanticHit {
  readonly file_path: string
  readonly start_line: number
  readonly end_line: number
  readonly kind: string
  readonly name?: string
  readonly within?: string[]
  readonly language: string
  readonly text: string
  readonly score: number
}

export interface Coverage {
  readonly files: number
  readonly files_indexed: number
  readonly chunks: number
  readonly chunks_with_vectors: number
}

export interface SemanticSearch {
  readonly hits: SemanticHit[]
  /** What they were ranked by. */
  readonly mode: SemanticMode
  /** Chunks that got their vector for this search. */
  readonly embedded: number
  /** Why the model could not be used. */
  readonly problem?: string
}
