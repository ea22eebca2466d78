// One HTTP response: when it is JSON, when it becomes a stream, and what happens when its client leaves or does not read.
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { errorReply, type Reply, RPC, RPC_RATE_LIMITED } from '../json-rpc.ts'
import { Replay } from './replay.ts'
import { accepts, guarded, handled, json, McpHttpResponse, type Resumable } from './response.ts'

let server: Server
let port: number
let onRequest: (req: IncomingMessage, res: ServerResponse) => void
beforeAll(async () => {
  server = createServer((req, res) => onRequest(req, res))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})
afterEach(() => vi.useRealTimers())

const STREAM = 'application/json, text/event-stream'
const resumable = (marks: boolean): Resumable => ({ replay: new Replay(), request: 7, marks })
const reply = (result: object = {}): Reply => ({ jsonrpc: '2.0', id: 7, result: result as never })

/** What a client gets of a response that is written by `work`. */
async function answered(
  work: (response: McpHttpResponse, res: ServerResponse) => unknown,
  { accept = STREAM, resume }: { accept?: string; resume?: Resumable } = {},
) {
  onRequest = (req, res) => void work(new McpHttpResponse(req, res, resume), res)
  const got = await fetch(`http://127.0.0.1:${port}`, { headers: { accept } })
  const text = await got.text()
  return {
    status: got.status,
    type: got.headers.get('content-type'),
    retry: got.headers.get('retry-after'),
    text,
  }
}

/** A request whose client can leave; `res` is the server's side of it. */
async function opened(resume?: Resumable, accept = STREAM) {
  const made = new Promise<{ response: McpHttpResponse; res: ServerResponse }>((done) => {
    onRequest = (req, res) => done({ response: new McpHttpResponse(req, res, resume), res })
  })
  const client = request({ port, headers: { accept }, agent: false })
  let text = ''
  const closed = new Promise<void>((done) => client.on('close', done))
  client.on('error', () => undefined)
  client.on('response', (got) => {
    got.setEncoding('utf8')
    got.on('data', (chunk: string) => {
      text += chunk
    })
    got.on('error', () => undefined)
  })
  client.end()
  const { response, res } = await made
  return { response, res, client, closed, text: () => text }
}
const closeOf = (res: ServerResponse) => new Promise<void>((done) => res.once('close', done))

describe('a response', () => {
  it('is JSON when there is only the answer, and nothing when there is none', async () => {
    expect(await answered((one) => one.finish(reply({ a: 1 })))).toMatchObject({
      status: 200,
      type: 'application/json',
      text: '{"jsonrpc":"2.0","id":7,"result":{"a":1}}',
    })
    expect(await answered((one) => one.finish(undefined))).toMatchObject({ status: 202, text: '' })
  })

  it('is a stream when a message comes before the answer', async () => {
    const got = await answered((one) => {
      expect(one.send({ n: 1 })).toBe(true)
      expect(one.finished).toBe(false)
      one.finish(reply())
      expect(one.finished).toBe(true)
      expect(one.send({ n: 2 })).toBe(false)
      one.finish(reply({ again: true }))
    })
    expect(got).toMatchObject({ status: 200, type: 'text/event-stream' })
    expect(got.text).toBe(
      'event: message\ndata: {"n":1}\n\nevent: message\ndata: {"jsonrpc":"2.0","id":7,"result":{}}\n\n',
    )
    const bare = await answered((one) => {
      one.send({ n: 1 })
      one.finish(undefined)
    })
    expect(bare.text).toBe('event: message\ndata: {"n":1}\n\n')
  })

  it('of a client without streams is the answer alone', async () => {
    const got = await answered(
      (one) => {
        expect(one.send({ n: 1 })).toBe(false)
        one.keepAlive(Number.MAX_SAFE_INTEGER)
        one.finish(reply())
      },
      { accept: 'application/json' },
    )
    expect(got.type).toBe('application/json')
  })

  it.each([
    [RPC.parse, 400, 200],
    [RPC.invalidRequest, 400, 200],
    [RPC.headerMismatch, 400, 200],
    [RPC.missingCapability, 400, 200],
    [RPC.unsupportedVersion, 400, 200],
    [RPC.invalidParams, 200, 200],
    [RPC.internal, 200, 200],
    [RPC_RATE_LIMITED, 429, 429],
  ])('with the error %i has the status %i, in a session %i', async (code, status, inSession) => {
    const error = errorReply(7, code, 'x')
    expect((await answered((one) => one.finish(error))).status).toBe(status)
    const got = await answered((one) => one.finish(error), { resume: resumable(true) })
    expect(got.status).toBe(inSession)
  })

  it('says when to come back after too many calls, and only then', async () => {
    const limited = (data?: unknown) => errorReply(7, RPC_RATE_LIMITED, 'x', data)
    const retry = async (error: Reply, resume?: Resumable) =>
      (await answered((one) => one.finish(error), resume ? { resume } : {})).retry
    expect(await retry(limited({ retryAfterSeconds: 9 }))).toBe('9')
    expect(await retry(limited({ retryAfterSeconds: 9 }), resumable(false))).toBe('9')
    expect(await retry(limited({}))).toBe('1')
    expect(await retry(limited('x'))).toBe('1')
    expect(await retry(errorReply(7, RPC.internal, 'x', { retryAfterSeconds: 9 }))).toBeNull()
  })

  it('that takes long becomes a stream with signs of life', async () => {
    const { keepAliveMs } = GATEWAY_LIMITS
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    const got = await answered((one) => {
      const at = Date.now()
      one.keepAlive(at + keepAliveMs - 1)
      one.keepAlive(at + keepAliveMs)
      one.keepAlive(at + keepAliveMs + 1)
      one.keepAlive(at + 2 * keepAliveMs)
      one.finish(reply())
      one.keepAlive(at + 9 * keepAliveMs)
    })
    expect(got.type).toBe('text/event-stream')
    expect(got.text.match(/still here/g)).toHaveLength(2)
  })

  it('that is long arrives whole, as JSON and as an event', async () => {
    for (const chars of [64 * 1024 - 100, 64 * 1024, 64 * 1024 + 1, 1024 * 1024]) {
      const long = reply({ text: 'ä'.repeat(chars) })
      expect(JSON.parse((await answered((one) => one.finish(long))).text)).toEqual(long)
      const streamed = await answered((one) => {
        one.send({ n: 1 })
        one.finish(long)
      })
      expect(JSON.parse(streamed.text.split('\ndata: ')[2] ?? '')).toEqual(long)
    }
  })
})

describe('a stream that can be resumed', () => {
  it('begins with a mark where the client knows marks', async () => {
    const marked = await answered(
      (one) => {
        one.send({ n: 1 })
        one.send({ n: 2 })
        one.finish(reply())
      },
      { resume: resumable(true) },
    )
    expect(marked.text.startsWith('retry: 500\nid: 1-1-Nw\ndata: \n\nid: 1-2-Nw\n')).toBe(true)
    expect(marked.text.match(/retry/g)).toHaveLength(1)
    const plain = await answered(
      (one) => {
        one.send({ n: 1 })
        one.finish(reply())
      },
      { resume: resumable(false) },
    )
    expect(plain.text.startsWith('id: 1-1-Nw\nevent: message\n')).toBe(true)
  })

  it('is kept for a client that left after an event, and given up when it does not come back', async () => {
    const resume = resumable(true)
    const one = await opened(resume)
    let gone = 0
    one.response.onGone = () => gone++
    one.response.send({ n: 1 })
    expect(one.response.stream).toBe(1)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const closed = closeOf(one.res)
    one.client.destroy()
    await closed
    expect([one.response.away, one.response.gone]).toEqual([true, false])
    expect(one.response.send({ n: 2 })).toBe(true)
    vi.advanceTimersByTime(GATEWAY_LIMITS.resumeMs - 1)
    expect(one.response.gone).toBe(false)
    vi.advanceTimersByTime(1)
    expect([one.response.gone, gone]).toEqual([true, 1])
    one.response.leave()
    expect(gone).toBe(1)
    expect(resume.replay.since(1, 0)).toHaveLength(2)
  })

  it('goes on where the client comes back', async () => {
    const one = await opened(resumable(true))
    one.response.send({ n: 1 })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const closed = closeOf(one.res)
    one.client.destroy()
    await closed
    const two = await opened()
    two.res.writeHead(200)
    one.response.resume(two.res)
    expect(one.response.away).toBe(false)
    vi.advanceTimersByTime(10 * GATEWAY_LIMITS.resumeMs)
    expect(one.response.gone).toBe(false)
    one.response.send({ n: 2 })
    one.response.finish(reply())
    await two.closed
    expect(two.text()).toContain('{"n":2}')
    expect(two.text()).toContain('"result"')
  })

  it('has one connection at a time: the one before is closed', async () => {
    const one = await opened(resumable(true))
    one.response.send({ n: 1 })
    const two = await opened()
    two.res.writeHead(200)
    one.response.resume(two.res)
    await one.closed
    expect([one.response.away, one.response.gone]).toEqual([false, false])
    one.response.finish(reply())
    await two.closed
  })

  it('is over with the answer, also when its client is away', async () => {
    const resume = resumable(true)
    const one = await opened(resume)
    one.response.send({ n: 1 })
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const closed = closeOf(one.res)
    one.client.destroy()
    await closed
    one.response.finish(reply())
    vi.advanceTimersByTime(10 * GATEWAY_LIMITS.resumeMs)
    expect(one.response.gone).toBe(false)
    expect(resume.replay.since(1, 0)).toHaveLength(2)
  })
})

describe('a client', () => {
  it('that leaves before anything was sent is gone, and gets nothing', async () => {
    for (const resume of [undefined, resumable(true)]) {
      const one = await opened(resume)
      let gone = 0
      one.response.onGone = () => gone++
      const closed = closeOf(one.res)
      one.client.destroy()
      await closed
      expect([one.response.gone, one.response.away, gone]).toEqual([true, false, 1])
      expect(one.response.send({ n: 1 })).toBe(false)
      one.response.keepAlive(Number.MAX_SAFE_INTEGER)
      expect(one.res.headersSent).toBe(false)
      one.response.finish(reply())
      expect(one.res.headersSent).toBe(false)
    }
  })

  it('that leaves after its answer was complete is not gone', async () => {
    const one = await opened()
    one.response.finish(reply())
    await closeOf(one.res)
    expect(one.response.gone).toBe(false)
  })

  it('that does not read is dropped before it takes all memory', async () => {
    const one = await opened()
    one.client.on('response', (got) => got.pause())
    const text = 'x'.repeat(8 * 1024 * 1024)
    let sent = 0
    while (!one.res.destroyed && sent < 100) {
      one.response.send({ text })
      sent++
    }
    expect(sent * text.length).toBeGreaterThan(GATEWAY_LIMITS.unreadBytes)
    expect(one.res.destroyed).toBe(true)
    one.client.destroy()
  })
})

describe('work for a response', () => {
  it('that fails is an internal error, or the end of what was begun', async () => {
    const status = async (work: (res: ServerResponse) => unknown) => {
      onRequest = (_, res) => void work(res)
      const got = await fetch(`http://127.0.0.1:${port}`)
      return [got.status, await got.text().catch(() => 'broken')]
    }
    const failed = [500, expect.stringContaining('Internal error.')]
    expect(await status((res) => guarded(res, Promise.reject(new Error('x'))))).toEqual(failed)
    expect(
      await status((res) =>
        handled(res, () => {
          throw new Error('x')
        }),
      ),
    ).toEqual(failed)
    expect(await status((res) => handled(res, () => Promise.reject(new Error('x'))))).toEqual(failed)
    const begun = await status((res) => {
      res.writeHead(200)
      res.flushHeaders()
      void guarded(res, Promise.reject(new Error('x')))
    })
    expect(begun).toEqual([200, 'broken'])
    expect(await status((res) => handled(res, () => void json(res, 201, { a: 1 })))).toEqual([201, '{"a":1}'])
    expect(handled({} as ServerResponse, () => undefined)).toBeUndefined()
  })
})

it.each([
  [undefined, false],
  ['', false],
  ['application/json', false],
  ['text/event-stream', true],
  ['application/json, Text/Event-Stream', true],
  ['*/*', true],
  ['text/*', true],
  ['text/html', false],
  ['application/*', false],
])('a client that accepts %s takes streams: %s', (accept, wanted) => {
  const req = { headers: accept === undefined ? {} : { accept } } as IncomingMessage
  expect(accepts(req, 'text/event-stream')).toBe(wanted)
})
