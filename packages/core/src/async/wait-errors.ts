// wait-errors.ts: how a wait ends without its result: the caller gave up, or the time is over.

export class RequestTimedOut extends Error {
  readonly afterMs: number
  constructor(afterMs: number) {
    super(`No answer within ${afterMs} ms.`)
    this.name = 'RequestTimedOut'
    this.afterMs = afterMs
  }
}

export class RequestAborted extends Error {
  constructor(reason: unknown) {
    super('The request was aborted.', { cause: reason })
    this.name = 'RequestAborted'
  }
}
