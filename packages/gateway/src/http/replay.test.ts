// A client of 2025-11-25 whose connection breaks: what it can ask for again, and how long its call goes on.
import { describe, expect, it } from 'vitest'
import { folder, makeGateway, seenIn, serve, until, upstream } from '../fixtures/kit.ts'
import { Replay, STANDALONE } from './replay.ts'

const HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

async function open(url: string): Promise<Record<string, string>> {
  const clientInfo = { name: 'raw', version: '1' }
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  const response = await fetch(url, { method: 'POST', headers: HEADERS, body })
  await response.text()
  return { ...HEADERS, 'mcp-session-id': response.headers.get('mcp-session-id') ?? '' }
}

/** Reads until the text is there, or to the end. */
async function read(response: Response, wanted?: string): Promise<string> {
  let got = ''
  const decoder = new TextDecoder()
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    got += decoder.decode(chunk, { stream: true })
    if (wanted !== undefined && got.includes(wanted)) break
  }
  return got
}

function work(id: number, ms: number): string {
  const params = { name: 'mcp__one__work', arguments: { ms }, _meta: { progressToken: id } }
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
}

const lastId = (text: string) => [...text.matchAll(/^id: (.+)$/gm)].at(-1)?.[1] ?? ''
const get = (url: string, headers: Record<string, string>, id: string) =>
  fetch(url, { headers: { ...headers, 'last-event-id': id }, signal: AbortSignal.timeout(15_000) })

describe('a stream that breaks', () => {
  it('is resumed where it broke, and only by its own session', async () => {
    const gateway = await makeGateway([upstream('one', 'legacy')])
    await gateway.wake(15_000)
    const { url } = await serve(gateway)
    const headers = await open(url)
    const gone = new AbortController()
    const first = await fetch(url, { method: 'POST', headers, body: work(7, 1500), signal: gone.signal })
    const seen = await read(first, 'step 1')
    gone.abort()
    // It begins with an event without a message, from which all of it can be had again.
    const primingId = /^retry: \d+\nid: (.+)\ndata: \n\n/.exec(seen)?.[1] ?? ''
    const firstId = /^id: (.+)\nevent: message\ndata: .*step 1/m.exec(seen)?.[1] ?? ''
    const rest = await read(await get(url, headers, firstId))
    expect(rest).toContain('step 2')
    expect(rest).not.toContain('step 1')
    expect(rest).toContain('"id":7,"result"')
    // The response itself can be asked for again too, long after the call is over.
    expect(await read(await get(url, headers, firstId))).toBe(rest)
    expect(await read(await get(url, headers, primingId))).toContain('step 1')
    expect(await read(await get(url, headers, lastId(rest)))).toBe('')
    // To another session the same id means nothing: it gets a stream of its own.
    const otherSession = await open(url)
    const foreign = await get(url, otherSession, firstId)
    await gateway.board.link.apply([])
    expect(await read(foreign, 'list_changed')).not.toContain('step')
  }, 30_000)

  it('ends its call when the client does not come back for it', async () => {
    const dir = folder()
    const gateway = await makeGateway([upstream('one', 'legacy', dir)])
    await gateway.wake(15_000)
    const { url } = await serve(gateway)
    const gone = new AbortController()
    const call = await fetch(url, {
      method: 'POST',
      headers: await open(url),
      body: work(7, 60_000),
      signal: gone.signal,
    })
    await read(call, 'step 1')
    gone.abort()
    await until(() => seenIn(dir).includes('cancelled'), 15_000)
  }, 30_000)

  it('replays what was missed, when it was the stream for notifications', async () => {
    const gateway = await makeGateway([upstream('one', 'legacy')])
    await gateway.wake(15_000)
    const { url } = await serve(gateway)
    const headers = await open(url)
    const gone = new AbortController()
    const stream = await fetch(url, { headers, signal: gone.signal })
    await gateway.board.link.apply([])
    const seen = await read(stream, 'tools/list_changed')
    gone.abort()
    await gateway.board.link.apply([upstream('two', 'legacy')])
    await gateway.board.ready()
    const rest = await read(await get(url, headers, lastId(seen)), 'tools/list_changed')
    expect(lastId(rest)).not.toBe('')
    expect(lastId(rest)).not.toBe(lastId(seen))
  }, 30_000)
})

describe('what is kept', () => {
  it('is bounded in number and size, and forged ids find nothing', () => {
    const replay = new Replay()
    for (let n = 0; n < 2000; n++) replay.event(STANDALONE, { n })
    expect(replay.since(STANDALONE, 0)).toHaveLength(256)
    replay.event(STANDALONE, { text: 'x'.repeat(2_000_000) })
    expect(replay.since(STANDALONE, 0)).toEqual([])
    for (const id of ['', 'x', '0', '9-1', '0-99999', '0-1; DROP', '-1--1'])
      expect(replay.after(id)).toBeUndefined()
  })
})
