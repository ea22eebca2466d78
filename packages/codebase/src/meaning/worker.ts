// meaning/worker.ts: the thread that cuts files into chunks and turns chunks into vectors. A query's vector goes before the
// next chunk's, so that asking never waits for more than one.
import { lstatSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { chunkText } from '../chunks/chunk.ts'
import { Parsers } from '../chunks/parsers.ts'
import { decodeText } from '../files.ts'
import { FILE_LIMITS } from '../limits.ts'
import type { EmbeddingChoice } from './choice.ts'
import { type ChunkedFile, ChunkSegment, hashOf, writeChunkSegment } from './chunk-segment.ts'
import { type Embedder, makeEmbedder } from './embedders.ts'
import { type Passage, passageOf } from './passage.ts'
import { packVector, VectorFile } from './vectors.ts'

export type MeaningRequest =
  | {
      readonly do: 'chunk'
      readonly id: number
      readonly root: string
      readonly target: string
      readonly files: readonly string[]
    }
  | {
      readonly do: 'embed'
      readonly id: number
      readonly root: string
      readonly segment: string
      readonly vectors: string
      readonly choice: EmbeddingChoice
      readonly dimensions: number
      /** Vectors known from before, by the hash of the chunk they belong to. */
      readonly known: ReadonlyMap<string, Uint8Array>
    }
  | { readonly do: 'query'; readonly id: number; readonly text: string; readonly choice: EmbeddingChoice }
  | { readonly do: 'stat'; readonly id: number; readonly root: string; readonly paths: readonly string[] }

export type MeaningReply =
  | { readonly type: 'progress'; readonly id: number; readonly files: number }
  | { readonly type: 'chunked'; readonly id: number; readonly chunks: number }
  | { readonly type: 'embedded'; readonly id: number }
  | { readonly type: 'vector'; readonly id: number; readonly vector: Float32Array }
  | { readonly type: 'stats'; readonly id: number; readonly numbers: Float64Array }
  | { readonly type: 'failed'; readonly id: number; readonly code: string; readonly message: string }

const turn = () => new Promise<void>((done) => setImmediate(done))

const NOTHING: Passage = { names: '', opening: '', text: '' }

class MeaningThread {
  readonly #port: MessagePort
  readonly #parsers = new Parsers()
  #embedder: Promise<Embedder> | undefined

  constructor(port: MessagePort) {
    this.#port = port
    port.on('message', (request: MeaningRequest) => {
      this.#answer(request).then(
        (reply) => this.#port.postMessage(reply),
        (error: NodeJS.ErrnoException) => {
          this.#port.postMessage({
            type: 'failed',
            id: request.id,
            code: error.code ?? 'UNKNOWN',
            message: error.message,
          } satisfies MeaningReply)
        },
      )
    })
  }

  async #answer(request: MeaningRequest): Promise<MeaningReply> {
    const { id } = request
    switch (request.do) {
      case 'chunk':
        return { type: 'chunked', id, chunks: await this.#chunk(request.root, request.target, request.files) }
      case 'embed':
        await this.#embed(request)
        return { type: 'embedded', id }
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

  async #chunk(root: string, target: string, paths: readonly string[]): Promise<number> {
    const files: ChunkedFile[] = []
    for (const path of paths) {
      const found = lstatSync(join(root, path), { throwIfNoEntry: false })
      files.push({
        path,
        size: found?.size ?? -1,
        mtimeMs: found?.mtimeMs ?? -1,
        chunks: await this.#chunksOf(root, path),
      })
      await turn()
    }
    return writeChunkSegment(target, files)
  }

  /** A file that is gone, binary or too large has no chunks; the search by text still finds what it may. */
  async #chunksOf(root: string, path: string) {
    try {
      const found = lstatSync(join(root, path))
      if (!found.isFile() || found.size > FILE_LIMITS.meaningBytes) return []
      return await chunkText(path, decodeText(readFileSync(join(root, path)), path).text, this.#parsers)
    } catch {
      // Not text, or gone meanwhile.
      return []
    }
  }

  async #embed(request: MeaningRequest & { readonly do: 'embed' }): Promise<void> {
    const segment = ChunkSegment.open(request.segment, 'segment')
    const vectors = new VectorFile(request.vectors, request.dimensions)
    try {
      vectors.repair()
      const embedder = await this.#model(request.choice)
      const { batch } = embedder
      const metas = segment.metas()
      let file = -1
      let passages = new Map<string, Passage>()
      for (let at = vectors.count; at < metas.length; at += batch) {
        const records: (Uint8Array | undefined)[] = []
        const wanted: Passage[] = []
        for (const meta of metas.slice(at, at + batch)) {
          const path = segment.files[meta.file]?.path ?? ''
          if (meta.file !== file) {
            file = meta.file
            passages = new Map(
              (await this.#chunksOf(request.root, path)).map((chunk) => [
                hashOf(chunk.text),
                passageOf(path, chunk),
              ]),
            )
          }
          const known = request.known.get(meta.hash)
          records.push(known)
          // A chunk that changed meanwhile gets the vector of nothing; its new text is in a later segment.
          if (!known) wanted.push(passages.get(meta.hash) ?? NOTHING)
        }
        const made = wanted.length > 0 ? await embedder.chunks(wanted) : []
        vectors.append(
          records.map((record) => record ?? packVector(made.shift() ?? new Float32Array(request.dimensions))),
        )
        this.#port.postMessage({
          type: 'progress',
          id: request.id,
          files: at + records.length,
        } satisfies MeaningReply)
        await turn()
      }
    } finally {
      segment.close()
    }
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

if (parentPort) new MeaningThread(parentPort)
