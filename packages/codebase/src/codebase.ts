// codebase.ts: one folder that can be searched: the root, its index, its chunks and its meaning, behind plain methods.
// It speaks no protocol; mcp.ts does.
import { chunkText } from './chunks/chunk.ts'
import { Parsers } from './chunks/parsers.ts'
import { CodebaseError } from './errors.ts'
import {
  decodeText,
  type FileText,
  type FolderListing,
  type LineRange,
  type ListOptions,
  listFolder,
  readBytes,
  readText,
} from './files.ts'
import { FILE_LIMITS } from './limits.ts'
import { ripgrepPath } from './ripgrep.ts'
import { Root } from './root.ts'
import { searchText, type TextAnswer, type TextQuery } from './text/search.ts'

export interface CodebaseOptions {
  /** The folder that is searched; nothing outside it is ever read. */
  readonly root: string
  /** Where indexes live; one folder inside it belongs to this root. */
  readonly cacheDir?: string
  /** Worker threads for indexing and embedding, at most. */
  readonly threads?: number
}

export interface ChunkInfo {
  readonly start_line: number
  readonly end_line: number
  readonly kind: string
  readonly name?: string
  readonly within?: readonly string[]
  readonly language: string
  readonly text: string
}

export interface FileChunks {
  readonly file_path: string
  readonly language: string
  readonly chunks: readonly ChunkInfo[]
}

export class Codebase {
  readonly root: Root
  readonly #parsers = new Parsers()
  #ripgrep: Promise<string> | undefined

  constructor(options: CodebaseOptions) {
    this.root = new Root(options.root)
  }

  async searchCode(query: TextQuery, signal?: AbortSignal): Promise<TextAnswer> {
    return searchText(await this.ripgrep(), this.root, query, undefined, signal)
  }

  async list(path: string, options: ListOptions): Promise<FolderListing> {
    return listFolder(await this.ripgrep(), this.root, path, options)
  }

  read(path: string, range: LineRange): Promise<FileText> {
    return readText(this.root, path, range)
  }

  async chunkFile(path: string): Promise<FileChunks> {
    const { place, bytes } = await readBytes(this.root, path, FILE_LIMITS.chunkBytes)
    const { text } = decodeText(bytes, path)
    const chunks = await chunkText(place, text, this.#parsers)
    return {
      file_path: place,
      language: chunks[0]?.language ?? 'text',
      chunks: chunks.map((chunk) => ({
        start_line: chunk.startLine,
        end_line: chunk.endLine,
        kind: chunk.kind,
        ...(chunk.name !== undefined && { name: chunk.name }),
        ...(chunk.within.length > 0 && { within: chunk.within }),
        language: chunk.language,
        text: chunk.text,
      })),
    }
  }

  ripgrep(): Promise<string> {
    this.#ripgrep ??= ripgrepPath()
    return this.#ripgrep
  }

  warmUp(): void {}

  async status(): Promise<CodebaseStatus> {
    return { root: this.root.path }
  }

  async reindex(_signal?: AbortSignal): Promise<CodebaseStatus> {
    return this.status()
  }

  async drop(): Promise<void> {}

  async fileList(): Promise<string> {
    return ''
  }

  async searchByMeaning(
    _query: {
      query: string
      mode: 'hybrid' | 'vector' | 'text'
      language: string | undefined
      path: string | undefined
      maxResults: number
    },
    _signal?: AbortSignal,
  ): Promise<{
    results: never[]
    mode: 'text'
    model: null
    coverage: { files: number; files_indexed: number; chunks: number; chunks_with_vectors: number }
    notes: string[]
  }> {
    return {
      results: [],
      mode: 'text',
      model: null,
      coverage: { files: 0, files_indexed: 0, chunks: 0, chunks_with_vectors: 0 },
      notes: [],
    }
  }

  async close(): Promise<void> {}
}

export function asCodebaseError(error: unknown): CodebaseError | undefined {
  return error instanceof CodebaseError ? error : undefined
}

export interface CodebaseStatus {
  readonly root: string
}
