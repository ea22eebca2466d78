// chunks/chunk-types.ts: what a chunk is, as data. It imports nothing: code that only reads chunks needs no parser's types.

export type ChunkKind =
  | 'function'
  | 'method'
  | 'class'
  | 'interface'
  | 'struct'
  | 'enum'
  | 'type'
  | 'module'
  | 'section'
  | 'block'

/** A stretch of the text, before lines are counted. `end` is exclusive. */
export interface Piece {
  readonly start: number
  readonly end: number
  readonly kind: ChunkKind
  readonly name?: string | undefined
  /** Names of what encloses it, outermost first. */
  readonly within: readonly string[]
}

export interface Chunk extends Piece {
  readonly language: string
  /** 1-based, inclusive. */
  readonly startLine: number
  readonly endLine: number
  readonly text: string
}
