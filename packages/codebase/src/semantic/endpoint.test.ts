import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { EndpointChoice } from './embedding-choice.ts'
import { EndpointEmbedder, endpointAddress } from './endpoint.ts'

interface Asked {
  readonly path: string | undefined
  readonly key: string | undefined
  readonly model: string
  readonly input: readonly string[]
}

const servers: Server[] = []

/** A real endpoint; `answer` decides what each request gets. */
async function endpoint(answer: (asked: Asked, n: number, res: ServerResponse) => object | undefined) {
  const asked: Asked[] = []
  const server = createServer((req: IncomingMessage, res) => {
    let body = ''
    req.on('data', (piece) => {
      body += piece
    })
    req.on('end', () => {
      const { model, input } = JSON.parse(body) as { model: string; input: string[] }
      const one = { path: req.url, key: req.headers.authorization, model, input }
      asked.push(one)
      const found = answer(one, asked.length, res)
      if (found) res.setHeader('Content-Type', 'application/json').end(JSON.stringify(found))
    })
  })
  servers.push(server)
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/`
  return { asked, url }
}

const vectors = (input: readonly string[], numbers = [3, 4]) => ({
  data: input.map((_, index) => ({ index, embedding: numbers })).reverse(),
})
const choice = (url: string, extra: Partial<EndpointChoice> = {}): EndpointChoice => ({
  kind: 'endpoint',
  url,
  model: 'tiny',
  dimensions: 2,
  ...extra,
})
const quick = { timeoutMs: 2000, tries: 3, pauseMs: 1 }

afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

describe('an embeddings endpoint', () => {
  it('gets the model, the texts and the key, and its vectors come back in order at length 1', async () => {
    const { asked, url } = await endpoint(({ input }) => ({
      data: input.map((text, index) => ({ index, embedding: [text.length, 0] })).reverse(),
    }))
    const embedder = new EndpointEmbedder(choice(url, { apiKey: 'k' }), quick)
    expect(await embedder.embed(['a', 'bb'])).toEqual([Float32Array.of(1, 0), Float32Array.of(1, 0)])
    expect(asked).toEqual([{ path: '/v1/embeddings', key: 'Bearer k', model: 'tiny', input: ['a', 'bb'] }])
  })

  it('is retried when it is busy or broken, a bounded number of times', async () => {
    const busy = await endpoint(({ input }, n, res) => {
      if (n < 3) return void res.writeHead(n === 1 ? 429 : 503, { 'Retry-After': '0' }).end()
      return vectors(input)
    })
    expect(await new EndpointEmbedder(choice(busy.url), quick).embed(['a'])).toHaveLength(1)
    expect(busy.asked).toHaveLength(3)
    const broken = await endpoint((_, __, res) => void res.writeHead(500).end())
    await expect(new EndpointEmbedder(choice(broken.url), quick).embed(['a'])).rejects.toThrow('answered 500')
    expect(broken.asked).toHaveLength(3)
  })

  it('is not retried when it refuses the key, and the error does not show the key', async () => {
    const { asked, url } = await endpoint((_, __, res) => void res.writeHead(401).end())
    const failed = new EndpointEmbedder(choice(url, { apiKey: 'sk-secret' }), quick).embed(['a'])
    await expect(failed).rejects.toThrow('401')
    await expect(failed).rejects.not.toThrow('sk-secret')
    expect(asked).toHaveLength(1)
  })

  it('gets fewer texts at once when it cannot take that many', async () => {
    const { asked, url } = await endpoint(({ input }, _, res) => {
      if (input.length > 3) return void res.writeHead(413).end()
      return vectors(input)
    })
    const embedder = new EndpointEmbedder(choice(url), quick)
    const texts = Array.from({ length: 20 }, (_, n) => `text ${n}`)
    expect(await embedder.embed(texts)).toHaveLength(20)
    const taken = asked.filter(({ input }) => input.length <= 3).flatMap(({ input }) => input)
    expect(taken).toEqual(texts)
    const before = asked.length
    await embedder.embed(['again'])
    expect(asked).toHaveLength(before + 1)
  })

  it.each([
    [
      'another number of dimensions',
      { data: [{ index: 0, embedding: [1, 2, 3] }] },
      'vectors of 3 numbers, not 2',
    ],
    ['too few vectors', { data: [] }, '1 vectors for 1 texts'],
    ['no numbers', { data: [{ index: 0, embedding: ['x', null] }] }, 'not numbers'],
    ['a place that does not exist', { data: [{ index: 7, embedding: [1, 2] }] }, 'not numbers'],
    ['something else', { error: 'nothing' }, '1 vectors for 1 texts'],
    ['nothing', { data: [null] }, 'vectors of 0 numbers'],
  ])('is refused when it gives %s', async (_, answer, reason) => {
    const { url } = await endpoint(() => answer)
    await expect(new EndpointEmbedder(choice(url), quick).embed(['a'])).rejects.toThrow(reason)
  })

  it('fails with a timeout when it does not answer', async () => {
    const { asked, url } = await endpoint(() => undefined)
    const embedder = new EndpointEmbedder(choice(url), { timeoutMs: 100, tries: 2, pauseMs: 1 })
    await expect(embedder.embed(['a'])).rejects.toThrow('did not answer within 100 ms')
    expect(asked).toHaveLength(2)
  })

  it('cannot redirect our text elsewhere', async () => {
    const elsewhere = await endpoint(({ input }) => vectors(input))
    const { url } = await endpoint(
      (_, __, res) => void res.writeHead(307, { Location: `${elsewhere.url}embeddings` }).end(),
    )
    await expect(new EndpointEmbedder(choice(url), quick).embed(['a'])).rejects.toThrow('sends us elsewhere')
    expect(elsewhere.asked).toHaveLength(0)
  })

  it.each([
    ['ftp://example.com', {}, 'not an http'],
    ['no url', {}, 'not an http'],
    ['https://user:word@example.com/v1', {}, 'password'],
    ['http://example.com/v1', { apiKey: 'k' }, 'in the clear'],
    ['http://127.0.0.1/v1', { dimensions: 0 }, 'dimensions'],
  ])('must be a safe URL: %s', (url, extra, reason) => {
    expect(() => endpointAddress(choice(url, extra))).toThrow(reason)
  })
})
