// index/threads.ts: the calling side of a worker thread: asks, waits for the answer with that number, ends with its owner.
import { Worker } from 'node:worker_threads'
import { CodebaseError } from '../errors.ts'
import type { Reply, Request } from './worker.ts'

type Unnumbered<T> = T extends { readonly id: number } ? Omit<T, 'id'> : never
type Asked = Unnumbered<Request>

interface Waiting {
  readonly done: (reply: Reply) => void
  readonly fail: (error: Error) => void
  readonly onProgress: ((files: number) => void) | undefined
}

export class IndexWorker {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting>()
  #next = 1
  #ended: Error | undefined

  constructor() {
    this.#worker = new Worker(threadFile('index/worker', import.meta.url), { stdout: false, stderr: false })
    this.#worker.unref()
    this.#worker.on('message', (reply: Reply) => this.#onReply(reply))
    this.#worker.on('error', (error) => this.#end(error))
    this.#worker.on('exit', () => this.#end(new CodebaseError('IO', 'The index thread has ended.')))
  }

  ask(request: Asked, onProgress?: (files: number) => void): Promise<Reply> {
    if (this.#ended) return Promise.reject(this.#ended)
    const id = this.#next++
    return new Promise((done, fail) => {
      this.#waiting.set(id, { done, fail, onProgress })
      this.#worker.postMessage({ ...request, id })
    })
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #onReply(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id)
    if (!waiting) return
    if (reply.type === 'progress') {
      waiting.onProgress?.(reply.files)
      return
    }
    this.#waiting.delete(reply.id)
    if (reply.type === 'failed')
      waiting.fail(new CodebaseError('IO', `Indexing failed (${reply.code}): ${reply.message}`))
    else waiting.done(reply)
  }

  #end(error: Error): void {
    this.#ended = error
    for (const { fail } of this.#waiting.values()) fail(error)
    this.#waiting.clear()
  }
}

/** A thread runs built JavaScript; sources under test run the build of themselves. */
export function threadFile(name: string, from: string): URL {
  return from.endsWith('.ts') ? new URL(`../../dist/${name}.js`, from) : new URL(`../${name}.js`, from)
}
