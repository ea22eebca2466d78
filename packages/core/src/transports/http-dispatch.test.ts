// One HTTP exchange that is given up before the server answers, and a response from its first byte to its end.
import { Agent } from 'undici'
import { afterEach, describe, expect, it } from 'vitest'
import { type Asked, json, scripted } from './fixtures/http-script.ts'
import { until } from './fixtures/support.ts'
import { BodyTooLarge, HttpResponse, httpExchange, RequestAbort } from './http-dispatch.ts'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

describe('a request that is given up', () => {
  it('while it waits for a connection fails at once, not on its turn, and is never sent', async () => {
    const held: Asked[] = []
    const server = await scripted((asked) => held.push(asked))
    ends.push(() => server.close())
    const dispatcher = new Agent({ connections: 1 })
    ends.push(() => dispatcher.destroy())
    const { origin } = new URL(server.url)
    const order: string[] = []
    const ask = (path: string, onAbortable?: (abort: (reason: Error) => void) => void) =>
      httpExchange(dispatcher, { origin, path, method: 'GET', headers: [] }, onAbortable).then(
        async (response) => {
          await response.text(1000)
          order.push(`${path} answered`)
        },
        (error: Error) => order.push(`${path} failed: ${error.message}`),
      )
    const first = ask('/first')
    await until(() => held.length === 1, 'the first request has the only connection')
    let giveUp = (_reason: Error): void => undefined
    const second = ask('/second', (abort) => {
      giveUp = abort
    })
    giveUp(new Error('enough'))
    for (const asked of held) json(asked, {})
    await Promise.all([first, second])
    expect(order).toEqual(['/second failed: enough', '/first answered'])
    const third = ask('/third')
    await until(() => held.length === 2, 'the connection is free again')
    for (const asked of held.slice(1)) json(asked, {})
    await third
    expect(held.map(({ url }) => url)).toEqual(['/first', '/third'])
  })
})

describe('a way to end a request', () => {
  it('ends the step that is under way, and every later one, with the first reason', () => {
    const abort = new RequestAbort()
    const stopped: string[] = []
    abort.stoppable(({ message }) => stopped.push(`first ${message}`))
    abort.stoppable(({ message }) => stopped.push(`second ${message}`))
    expect(stopped).toEqual([])
    abort.abort(new Error('one'))
    abort.abort(new Error('two'))
    abort.stoppable(({ message }) => stopped.push(`third ${message}`))
    expect(stopped).toEqual(['second one', 'third one'])
  })
})

describe('a response', () => {
  function made(status = 200, headers: Record<string, string | string[]> = {}) {
    const done: string[] = []
    const response: HttpResponse = new HttpResponse(status, '', headers, {
      abort: (reason) => {
        done.push(`abort ${reason.constructor.name}`)
        response.finish(reason)
      },
      pause: () => done.push('pause'),
      resume: () => done.push('resume'),
    })
    const reader = {
      data: (chunk: Buffer) => void done.push(`data ${chunk.length}`),
      end: () => void done.push('end'),
      fail: (error: Error) => void done.push(`fail ${error.message}`),
    }
    return { response, done, reader }
  }

  it.each([
    [199, false],
    [200, true],
    [299, true],
    [300, false],
  ])('with status %i is ok: %s', (status, ok) => expect(made(status).response.ok).toBe(ok))

  it.each<[string | string[] | undefined, string]>([
    [undefined, ''],
    ['application/json', 'application/json'],
    ['Text/Event-Stream ; charset=utf-8', 'text/event-stream'],
    [['a/b', 'c/d'], 'a/b, c/d'],
  ])('of content type %j has the media type %j', (type, media) => {
    expect(made(200, type === undefined ? {} : { 'content-type': type }).response.mediaType).toBe(media)
  })

  it('keeps what comes before it is read, and lets the server wait when that is more than a moment holds', () => {
    const full = made()
    full.response.push(Buffer.alloc(256 * 1024))
    full.response.read(full.reader)
    full.response.finish()
    expect(full.done).toEqual(['data 262144', 'end'])
    const over = made()
    over.response.push(Buffer.alloc(256 * 1024))
    over.response.push(Buffer.alloc(1))
    over.response.read(over.reader)
    over.response.push(Buffer.alloc(2))
    over.response.finish(new Error('cut'))
    expect(over.done).toEqual(['pause', 'data 262144', 'data 1', 'resume', 'data 2', 'fail cut'])
  })

  it('ends once, whenever it is read, and is not ended again from our side', () => {
    const late = made()
    late.response.finish()
    late.response.finish(new Error('again'))
    late.response.abort(new Error('too late'))
    late.response.read(late.reader)
    expect(late.done).toEqual(['end'])
    const early = made()
    early.response.read(early.reader)
    early.response.finish(new Error('cut'))
    early.response.finish()
    expect(early.done).toEqual(['fail cut'])
    const cut = made()
    cut.response.finish(new Error('cut'))
    cut.response.read(cut.reader)
    expect(cut.done).toEqual(['fail cut'])
  })

  it.each([1, 2])('of %i parts is a text up to its limit, and is ended when it is longer', async (parts) => {
    const put = (response: HttpResponse) => {
      for (const chunk of parts === 1 ? ['grün'] : ['gr\xc3', '\xbcn'])
        response.push(Buffer.from(chunk, parts === 1 ? 'utf8' : 'latin1'))
      response.finish()
    }
    const fits = made()
    const text = fits.response.text(5)
    put(fits.response)
    expect(await text).toBe('grün')
    const longer = made()
    const refused = longer.response.text(4)
    put(longer.response)
    await expect(refused).rejects.toBeInstanceOf(BodyTooLarge)
    expect(longer.done).toEqual(['abort BodyTooLarge'])
  })

  it('that is not used is read as far as that is short, unless another reads it', () => {
    const [short, long, read] = [made(), made(), made()]
    short.response.discard()
    short.response.push(Buffer.alloc(64 * 1024))
    long.response.discard()
    long.response.push(Buffer.alloc(64 * 1024 + 1))
    read.response.read(read.reader)
    read.response.discard()
    read.response.push(Buffer.alloc(100_000))
    expect([short.done, long.done, read.done]).toEqual([[], ['abort BodyTooLarge'], ['data 100000']])
  })

  it('is the one after those that only announce it', async () => {
    const server = await scripted((asked) => {
      asked.response.writeProcessing()
      json(asked, { whole: true })
    })
    ends.push(() => server.close())
    const dispatcher = new Agent()
    ends.push(() => dispatcher.destroy())
    const { origin } = new URL(server.url)
    const response = await httpExchange(dispatcher, { origin, path: '/', method: 'GET', headers: [] })
    expect([response.status, await response.text(100)]).toEqual([200, '{"whole":true}'])
  })
})
