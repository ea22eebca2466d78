// lab.ts: our side of the process in which the remote peers live.
import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'

export type RemoteKind = 'http' | 'sse' | 'ws'

/** What the proxy in front of a peer does to the connection; `times` bounds how often. */
export interface LinePlan {
  readonly mode:
    | 'good'
    | 'delay'
    | 'trickle'
    | 'stall'
    | 'half-open'
    | 'swallow'
    | 'cut'
    | 'reset'
    | 'reset-on-request'
    | 'garbage'
    | 'twice'
    | 'bad-gateway'
    | 'refuse'
  readonly ms?: number
  readonly bytes?: number
  readonly times?: number
}

export interface RemotePeer {
  readonly url: string
  line(plan: LinePlan): Promise<void>
  /** Resets what is open now. */
  drop(): Promise<void>
  /** Connections that are open. */
  sockets(): Promise<number>
  close(): Promise<void>
}

const ORDER_MS = 10_000

export class Lab {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, (message: { value?: unknown; error?: string }) => void>()
  #count = 0

  constructor(root: string) {
    this.#child = fork(join(root, 'test/faults/peers/lab.mjs'), {
      execArgv: [],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    })
    this.#child.on('message', (message: { number: number; value?: unknown; error?: string }) => {
      this.#waiting.get(message.number)?.(message)
      this.#waiting.delete(message.number)
    })
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  async open(kind: RemoteKind, behaviour: string, dir: string, argument = ''): Promise<RemotePeer> {
    const opened = await this.#order('open', { kind, behaviour, dir, argument })
    // The lab's own answer to this command.
    const { id, url } = opened as { id: number; url: string }
    return {
      url,
      line: async (plan) => void (await this.#order('line', { id, plan })),
      drop: async () => void (await this.#order('drop', { id })),
      sockets: async () => Number(await this.#order('sockets', { id })),
      close: async () => void (await this.#order('close', { id })),
    }
  }

  /** Ends the process and waits for it. */
  async close(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const gone = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()))
    this.#child.disconnect()
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 2000)
    await gone
    clearTimeout(timer)
  }

  #order(order: string, rest: object): Promise<unknown> {
    const number = ++this.#count
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`the lab did not ${order}`)), ORDER_MS)
      this.#waiting.set(number, ({ value, error }) => {
        clearTimeout(timer)
        if (error === undefined) resolve(value)
        else reject(new Error(error))
      })
      this.#child.send({ number, order, ...rest })
    })
  }
}
