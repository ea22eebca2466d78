// A body at its limits: read, refused after it was read, or refused without waiting for its end.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough } from 'node:stream'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { describe, expect, it } from 'vitest'
import { isTooLongToStart, readBody } from './request-body.ts'

const { bodyBytes, discardedBytes } = GATEWAY_LIMITS
const MIB = 1024 * 1024

/** What `readBody` says of a request of these headers and pieces; `ends`: whether the client finishes. */
async function read(pieces: readonly Buffer[], headers: Record<string, string> = {}, ends = true) {
  const stream = new PassThrough({ highWaterMark: 2 * discardedBytes })
  // What is used of a request and a response.
  const req = Object.assign(stream, { headers }) as unknown as IncomingMessage
  const said: (string | undefined)[] = []
  let continued = 0
  const res = { writeContinue: () => void continued++ } as unknown as ServerResponse
  readBody(req, res, (body) => void said.push(body))
  for (const piece of pieces) stream.write(piece)
  if (ends) stream.end()
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
  return { said, continued }
}
const mib = (count: number) => Array.from({ length: count }, () => Buffer.alloc(MIB, 'x'))

describe('a body', () => {
  it('of one piece or several is read as one text', async () => {
    expect((await read([Buffer.from('{}')])).said).toEqual(['{}'])
    expect((await read([Buffer.from('gr\xc3', 'latin1'), Buffer.from('\xbcn', 'latin1')])).said).toEqual([
      'grün',
    ])
    expect((await read([])).said).toEqual([''])
    expect((await read([Buffer.from('half')], {}, false)).said).toEqual([])
  })

  it('as long as the limit is read, and a longer one is refused once it is over', async () => {
    const fits = mib(bodyBytes / MIB)
    expect((await read(fits)).said.map((text) => text?.length)).toEqual([bodyBytes])
    expect((await read([...fits, Buffer.from('x')])).said).toEqual([undefined])
    expect((await read([...fits, Buffer.from('x')], {}, false)).said).toEqual([])
  })

  it('that is much longer is refused without its end, once', async () => {
    const said = async (length: number, ends: boolean) =>
      (await read([], { 'content-length': String(length) }, ends)).said
    expect(await said(discardedBytes + 1, false)).toEqual([undefined])
    expect(await said(discardedBytes, false)).toEqual([])
    const all = mib(discardedBytes / MIB)
    expect((await read(all, {}, false)).said).toEqual([])
    expect((await read([...all, Buffer.from('x')], {}, true)).said).toEqual([undefined])
  })

  it('that waits to be asked for is asked for, or refused before', async () => {
    const expecting = (length?: number) => ({
      headers: { expect: '100-continue', ...(length !== undefined && { 'content-length': String(length) }) },
    })
    expect((await read([Buffer.from('x')], { expect: '100-continue' })).continued).toBe(1)
    expect((await read([Buffer.from('x')])).continued).toBe(0)
    const isRefused = (request: object) => isTooLongToStart(request as IncomingMessage)
    expect([
      isRefused(expecting(bodyBytes + 1)),
      isRefused(expecting(bodyBytes)),
      isRefused(expecting()),
      isRefused({ headers: { 'content-length': String(bodyBytes + 1) } }),
    ]).toEqual([true, false, false, false])
  })
})
