// index/worker.ts: the thread that reads files for the index and watches for changes, so that answering never waits for
// either. One message asks, one or more answer.
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { type MessagePort, parentPort } from 'node:worker_threads'
import { INDEX_LIMITS } from '../limits.ts'
import { type IndexJob, indexFiles, type WrittenSegment } from './indexing.ts'
import { TrigramCollector } from './trigrams.ts'
import { type Changes, TreeWatcher } from './watch.ts'

export type Request =
  | { readonly do: 'index'; readonly id: number; readonly job: IndexJob }
  | { readonly do: 'stat'; readonly id: number; readonly root: string; readonly paths: readonly string[] }
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
  | { readonly type: 'indexed'; readonly id: number; readonly segments: readonly WrittenSegment[] }
  /** Size, mtime and ctime of each path in turn; all -1 when it is gone or no regular file. */
  | { readonly type: 'stats'; readonly id: number; readonly numbers: Float64Array }
  | { readonly type: 'watching'; readonly id: number; readonly folders: number }
  | { readonly type: 'changes'; readonly id: number; readonly changes: Changes }
  | { readonly type: 'failed'; readonly id: number; readonly code: string; readonly message: string }

/** Yield to the watcher's events after this many files. */
const STATS_PER_TURN = 4000

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
          // What was collected for a segment that could not be written is of no more use.
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
        return { type: 'indexed', id, segments: this.#index(id, request.job) }
      case 'stat':
        return { type: 'stats', id, numbers: await statAll(request.root, request.paths) }
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

  #index(id: number, job: IndexJob): WrittenSegment[] {
    this.#collector ??= new TrigramCollector(INDEX_LIMITS.postingsPerSegment)
    const segments: WrittenSegment[] = []
    indexFiles(
      job,
      this.#collector,
      (segment) => segments.push(segment),
      (files) => {
        this.#post({ type: 'progress', id, files })
        return true
      },
    )
    return segments
  }

  #post(reply: Reply): void {
    this.#port.postMessage(reply, reply.type === 'stats' ? [reply.numbers.buffer as ArrayBuffer] : [])
  }
}

async function statAll(root: string, paths: readonly string[]): Promise<Float64Array> {
  const numbers = new Float64Array(paths.length * 3).fill(-1)
  for (let n = 0; n < paths.length; n++) {
    const found = lstatSync(join(root, paths[n] as string), { throwIfNoEntry: false })
    if (found?.isFile()) numbers.set([found.size, found.mtimeMs, found.ctimeMs], n * 3)
    if (n % STATS_PER_TURN === STATS_PER_TURN - 1) await new Promise((done) => setImmediate(done))
  }
  return numbers
}

if (parentPort) new IndexThread(parentPort)
