// types.ts: the options of a codebase and its results: types only.
import type { IndexPhase } from './index/text-index.ts'
import type { EmbeddingChoice } from './semantic/embedding-choice.ts'
import type { Coverage, SemanticHit, SemanticMode } from './semantic/semantic-query.ts'
import type { ChunkInfo } from './semantic/unindexed.ts'

/**
 * Which folder is searched, and how.
 *
 * @example
 * const options: CodebaseOptions = { root: process.cwd(), index: false, protectedFolders: ['secrets'] }
 * const server = createCodebaseServer(options)
 * await server.close()
 */
export interface CodebaseOptions {
  /** The searched folder; nothing outside it is ever read. */
  readonly root: string
  /** Where indexes live; one folder inside it belongs to this root. */
  readonly cacheDir?: string
  /** Worker threads that index and embed at a time, at most. */
  readonly threads?: number
  /** False searches by scanning only; nothing is written. */
  readonly index?: boolean
  /** Where vectors come from: the model that comes with the install (the default), an endpoint, or nowhere. */
  readonly embeddings?: EmbeddingChoice
  /**
   * What happens to a call that names a hidden or ignored file, or one that holds credentials: it is refused (the default), it is
   * served because the calling program has asked (`gated`; resources still refuse), or it is served (`allow`). Search never shows them.
   */
  readonly protectedFiles?: 'refuse' | 'gated' | 'allow'
  /** Folders that are protected as a whole, wherever they lie. */
  readonly protectedFolders?: readonly string[]
  /** Called when the index starts, progresses or ends its work. */
  readonly onProgress?: (phase: IndexPhase) => void
}

/** The progress of building; `of` may still grow. */
export interface IndexProgress {
  /** `text` counts files; `meaning` counts chunks, cut and (where there is a model) embedded. */
  readonly part: 'text' | 'meaning'
  readonly done: number
  readonly of: number
}

/** What is indexed, and how far. */
export interface CodebaseStatus {
  readonly root: string
  readonly text: {
    readonly state: IndexPhase['kind']
    readonly reason?: string
    readonly done?: number
    readonly of?: number
    readonly files: number
    readonly textBytes: number
    readonly indexBytes: number
    readonly tooLarge: number
  }
  readonly meaning: Coverage & {
    readonly model: string | null
    readonly working: boolean
    readonly problem?: string
  }
  readonly cache: { readonly folder: string; readonly bytes: number }
}

export interface FileChunks {
  readonly file_path: string
  readonly language: string
  readonly chunks: readonly ChunkInfo[]
}

export interface SemanticAnswer {
  readonly results: SemanticHit[]
  readonly mode: SemanticMode
  readonly model: string | null
  readonly coverage: Coverage
  readonly notes: string[]
}
