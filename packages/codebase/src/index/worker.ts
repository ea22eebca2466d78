// index/worker.ts: the thread that reads files for the index and watches for changes, so that searches never wait for
// either. One request gets one or more replies.
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { INDEX_LIMITS } from '../limits.ts'
import { listFiles } from '../ripgrep.ts'
import { type IndexJob, indexFiles } from './indexing.ts'
import type { TextBatch } from './storage.ts'
import { TrigramCollector } from './trigrams.ts'
import { type Changes, TreeWatcher } from './watch.ts'

export type Request =
  | { readonly do: 'index'; readonly id: number; readonly job: IndexJob }
  | { readonly do: 'survey'; readonly id: number; readonly root: string; readonly ripgrep: string }
  | {
      readonly do: 'watch'
      readonly id: number
      readonly root: string
      readonly sentinels: string
      readonly hidden: readonly string[]
    }
  | { readonly do: 'barrier'; readonly id: number }

export type Reply =
  | { readonly type: 'progress'; readonly id: number; readonly files: number }
  /** Either some of the files a job has indexed … */
  | { readonly type: 'part'; readonly id: number; readonly batch: TextBatch }
  | { readonly type: 'indexed'; readonly id: number }
  /** … or some of the files that count, a NUL after each name; size, mtime and ctime in turn, all -1 for what is no regular file. */
  | {
      readonly type: 'part'
      readonly id: number
      readonly batch?: undefined
      readonly names: Uint8Array
      readonly numbers: Float64Array
    }
  | { readonly type: 'surveyed'; readonly id: number }
  | { readonly type: 'watching'; readonly id: number; readonly folders: number }
  | { readonly type: 'changes'; readonly id: number; readonly changes: Changes }
  | { readonly type: 'failed'; readonly id: number; readonly code: string; readonly message: string }

const FILES_PER_PART = 2000
const NUL = Buffer.alloc(1)

class IndexThread {
  readonly #port: MessagePort
  #collector: TrigramCollector | undefined
  #watcher: TreeWatcher | undefined

  constructor(port: MessagePort) {
    this.#port = port
    port.on('message', (request: Request) => {
      this.#answer(request).then(
        (reply) => this.#post(reply),
        (error: NodeJS.ErrnoException) => {
          // What was collected for a segment that could not be written is useless.
          this.#collector = undefined
          this.#post({
            type: 'failed',
            id: request.id,
            code: error.code ?? 'UNKNOWN',
            message: error.message,
          })
        },
      )
    })
  }

  async #answer(request: Request): Promise<Reply> {
    const { id } = request
    switch (request.do) {
      case 'index':
        this.#index(id, request.job)
        return { type: 'indexed', id }
      case 'survey':
        await this.#survey(id, request.root, request.ripgrep)
        return { type: 'surveyed', id }
      case 'watch':
        this.#watcher?.close()
        this.#watcher = new TreeWatcher(request.root, request.sentinels, request.hidden)
        this.#watcher.start()
        return { type: 'watching', id, folders: this.#watcher.folders }
      case 'barrier':
        if (!this.#watcher) throw new Error('nothing is watched')
        return { type: 'changes', id, changes: await this.#watcher.barrier() }
    }
  }

  #index(id: number, job: IndexJob): void {
    this.#collector ??= new TrigramCollector(INDEX_LIMITS.postingsPerSegment)
    indexFiles(
      job,
      this.#collector,
      (batch) => this.#post({ type: 'part', id, batch }),
      (files) => {
        this.#post({ type: 'progress', id, files })
        return true
      },
    )
  }

  /** In parts as they come, so that the whole list is never in memory. */
  async #survey(id: number, root: string, ripgrep: string): Promise<void> {
    let names: Buffer[] = []
    const flush = () => {
      const numbers = statAll(root, names)
      const joined = Uint8Array.from(Buffer.concat(names.flatMap((name) => [name, NUL])))
      this.#post({ type: 'part', id, names: joined, numbers })
      names = []
    }
    await listFiles(ripgrep, { cwd: root }, (name) => {
      names.push(Buffer.from(name))
      if (names.length === FILES_PER_PART) flush()
    })
    flush()
  }

  #post(reply: Reply): void {
    this.#port.postMessage(reply, reply.type === 'part' ? buffersOf(reply.batch ?? reply) : [])
  }
}

/** Buffers that are transferred instead of copied. */
function buffersOf(part: TextBatch | { readonly names: Uint8Array; readonly numbers: Float64Array }) {
  const arrays = [part.names, part.numbers]
  if (!('postings' in part)) return arrays.map((array) => array.buffer as ArrayBuffer)
  const { keys, offsets, data } = part.postings
  return [...arrays, part.hashes, part.flags, keys, offsets, data].map((array) => array.buffer as ArrayBuffer)
}

function statAll(root: string, names: readonly Buffer[]): Float64Array {
  const numbers = new Float64Array(names.length * 3).fill(-1)
  names.forEach((name, n) => {
    const found = lstatSync(join(root, name.toString('utf8')), { throwIfNoEntry: false })
    if (found?.isFile()) numbers.set([found.size, found.mtimeMs, found.ctimeMs], n * 3)
  })
  return numbers
}

if (parentPort) new IndexThread(parentPort)
