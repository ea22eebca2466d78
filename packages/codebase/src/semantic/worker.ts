// semantic/worker.ts: the thread that cuts files into chunks and turns chunks into vectors; the caller keeps them. It embeds one
// batch a request, so that a query never waits for more than one.
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { chunkText } from '../chunks/chunk.ts'
import { Parsers } from '../chunks/parsers.ts'
import { decodeText } from '../files.ts'
import type { ChunkBatch } from '../index/storage.ts'
import { FILE_LIMITS } from '../limits.ts'
import { batchOf, type CutFile, hashOf } from './chunk-batch.ts'
import { type Embedder, makeEmbedder } from './embedders.ts'
import type { EmbeddingChoice } from './embedding-choice.ts'
import { type Passage, passageOf } from './passage.ts'
import { packVector } from './vectors.ts'

export interface PendingChunk {
  readonly path: string
  readonly hash: string
  /** Its vector, when another chunk of the same text has one. */
  readonly known: Uint8Array | undefined
}

export type SemanticRequest =
  | {
      readonly do: 'chunk'
      readonly id: number
      readonly root: string
      readonly files: readonly string[]
    }
  | {
      readonly do: 'embed'
      readonly id: number
      readonly root: string
      readonly chunks: readonly PendingChunk[]
      readonly choice: EmbeddingChoice
      readonly dimensions: number
    }
  | { readonly do: 'query'; readonly id: number; readonly text: string; readonly choice: EmbeddingChoice }
  | { readonly do: 'stat'; readonly id: number; readonly root: string; readonly paths: readonly string[] }

export type SemanticReply =
  | { readonly type: 'chunked'; readonly id: number; readonly batch: ChunkBatch }
  /** The vectors of as many of the chunks, from the first on, as are embedded at once. */
  | { readonly type: 'embedded'; readonly id: number; readonly records: Uint8Array }
  | { readonly type: 'vector'; readonly id: number; readonly vector: Float32Array }
  | { readonly type: 'stats'; readonly id: number; readonly numbers: Float64Array }
  | { readonly type: 'failed'; readonly id: number; readonly code: string; readonly message: string }

type EmbedRequest = SemanticRequest & { readonly do: 'embed' }

const turn = () => new Promise<void>((done) => setImmediate(done))

const NOTHING: Passage = { names: '', opening: '', text: '' }

class SemanticThread {
  readonly #port: MessagePort
  readonly #parsers = new Parsers()
  #embedder: Promise<Embedder> | undefined
  #last: { readonly state: string; readonly passages: ReadonlyMap<string, Passage> } | undefined

  constructor(port: MessagePort) {
    this.#port = port
    port.on('message', (request: SemanticRequest) => {
      this.#answer(request).then(
        (reply) => this.#port.postMessage(reply),
        (error: NodeJS.ErrnoException) => {
          this.#port.postMessage({
            type: 'failed',
            id: request.id,
            code: error.code ?? 'UNKNOWN',
            message: error.message,
          } satisfies SemanticReply)
        },
      )
    })
  }

  async #answer(request: SemanticRequest): Promise<SemanticReply> {
    const { id } = request
    switch (request.do) {
      case 'chunk':
        return { type: 'chunked', id, batch: await this.#chunk(request.root, request.files) }
      case 'embed':
        return { type: 'embedded', id, records: await this.#embed(request) }
      case 'query': {
        const vector = await (await this.#model(request.choice)).query(request.text)
        return { type: 'vector', id, vector }
      }
      case 'stat':
        return { type: 'stats', id, numbers: await statPairs(request.root, request.paths) }
    }
  }

  #model(choice: EmbeddingChoice): Promise<Embedder> {
    this.#embedder ??= makeEmbedder(choice)
    return this.#embedder
  }

  async #chunk(root: string, paths: readonly string[]): Promise<ChunkBatch> {
    const files: CutFile[] = []
    for (const path of paths) {
      const found = lstatSync(join(root, path), { throwIfNoEntry: false })
      files.push({
        path,
        size: found?.size ?? -1,
        mtimeMs: found?.mtimeMs ?? -1,
        cut: await this.#chunksOf(root, path),
      })
      await turn()
    }
    return batchOf(files)
  }

  /** A file that is gone, binary or too large has no chunks; text search still finds what it may. */
  async #chunksOf(root: string, path: string) {
    try {
      const found = lstatSync(join(root, path))
      if (!found.isFile() || found.size > FILE_LIMITS.semanticBytes) return []
      return await chunkText(path, decodeText(readFileSync(join(root, path)), path).text, this.#parsers)
    } catch {
      // Not text, or gone meanwhile.
      return []
    }
  }

  async #embed({ root, chunks, choice, dimensions }: EmbedRequest): Promise<Uint8Array> {
    const embedder = await this.#model(choice)
    const records: (Uint8Array | undefined)[] = []
    const wanted: Passage[] = []
    for (const { path, hash, known } of chunks) {
      if (wanted.length === embedder.batch) break
      records.push(known)
      // A chunk that changed meanwhile gets the vector of an empty text; its new text is in a later segment.
      if (!known) wanted.push((await this.#passagesOf(root, path)).get(hash) ?? NOTHING)
    }
    const made = wanted.length > 0 ? await embedder.chunks(wanted) : []
    return Buffer.concat(
      records.map((record) => record ?? packVector(made.shift() ?? new Float32Array(dimensions))),
    )
  }

  /** Of a file's chunks, by their hash. The next chunk is mostly of the same file, which need not be cut again. */
  async #passagesOf(root: string, path: string): Promise<ReadonlyMap<string, Passage>> {
    const found = lstatSync(join(root, path), { throwIfNoEntry: false })
    const state = `${found?.size} ${found?.mtimeMs} ${found?.ctimeMs} ${path}`
    if (this.#last?.state !== state) {
      const chunks = await this.#chunksOf(root, path)
      const passages = new Map(chunks.map((chunk) => [hashOf(chunk.text), passageOf(path, chunk)]))
      this.#last = { state, passages }
    }
    return this.#last.passages
  }
}

/** Size and mtime of each path in turn; -1 when it is gone or no regular file. */
async function statPairs(root: string, paths: readonly string[]): Promise<Float64Array> {
  const numbers = new Float64Array(paths.length * 2).fill(-1)
  for (let n = 0; n < paths.length; n++) {
    const found = lstatSync(join(root, paths[n] as string), { throwIfNoEntry: false })
    if (found?.isFile()) numbers.set([found.size, found.mtimeMs], n * 2)
    if (n % 2000 === 1999) await turn()
  }
  return numbers
}

if (parentPort) new SemanticThread(parentPort)
