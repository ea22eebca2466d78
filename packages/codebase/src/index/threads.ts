// index/threads.ts: the calling side of a worker thread: sends requests, awaits the reply by its number, ends with its owner.
import { Worker } from 'node:worker_threads'
import { CodebaseError } from '../errors.ts'

type Unnumbered<T> = T extends { readonly id: number } ? Omit<T, 'id'> : never

interface AnyReply {
  readonly type: string
  readonly id: number
}

interface Waiting<Reply> {
  readonly done: (reply: Reply) => void
  readonly fail: (error: Error) => void
  readonly onPart: ((part: Reply) => void) | undefined
}

/** `name` is the thread's file under the package's build, without its ending. */
export class Thread<Request extends { readonly id: number }, Reply extends AnyReply> {
  readonly #worker: Worker
  readonly #waiting = new Map<number, Waiting<Reply>>()
  #next = 1
  #ended: Error | undefined

  constructor(name: string) {
    this.#worker = new Worker(threadFile(name, import.meta.url), {
      stdout: false,
      stderr: false,
      // The flags this process was started with (an --input-type, an inspector port) are not for its threads.
      execArgv: [],
    })
    this.#worker.unref()
    this.#worker.on('message', (reply: Reply) => this.#onReply(reply))
    this.#worker.on('error', (error) => this.#end(error))
    this.#worker.on('exit', () => this.#end(new CodebaseError('IO', 'The index thread has ended.')))
  }

  /** `onPart` gets the messages before the reply itself, of the types `progress` and `part`. */
  ask(request: Unnumbered<Request>, onPart?: (part: Reply) => void): Promise<Reply> {
    if (this.#ended) return Promise.reject(this.#ended)
    const id = this.#next++
    return new Promise((done, fail) => {
      this.#waiting.set(id, { done, fail, onPart })
      this.#worker.postMessage({ ...request, id })
    })
  }

  async close(): Promise<void> {
    await this.#worker.terminate()
  }

  #onReply(reply: Reply): void {
    const waiting = this.#waiting.get(reply.id)
    if (!waiting) return
    if (reply.type === 'progress' || reply.type === 'part') {
      waiting.onPart?.(reply)
      return
    }
    // Both kinds of thread report failure in the same form.
    const said = reply as AnyReply & { readonly code?: string; readonly message?: string }
    this.#waiting.delete(reply.id)
    if (said.type === 'failed')
      waiting.fail(new CodebaseError('IO', `Indexing failed (${said.code}): ${said.message}`))
    else waiting.done(reply)
  }

  #end(error: Error): void {
    this.#ended = error
    for (const { fail } of this.#waiting.values()) fail(error)
    this.#waiting.clear()
  }
}

/** A thread runs built JavaScript; sources under test run the build of themselves. */
function threadFile(name: string, from: string): URL {
  return from.endsWith('.ts') ? new URL(`../../dist/${name}.js`, from) : new URL(`../${name}.js`, from)
}
