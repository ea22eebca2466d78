import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { Peer } from './json-rpc-socket.ts'

it('tells the answering side that its answer came after the request was cancelled', async () => {
  const stream = new PassThrough()
  const late = new Promise<string | undefined>((done) => {
    new Peer(stream, { request: async () => 'mine', cancelledTooLate: done })
  })
  const line = (message: object) => stream.emit('data', Buffer.from(`${JSON.stringify(message)}\n`))
  line({ id: 7, method: 'client/elicit', params: {} })
  await new Promise((done) => setImmediate(done))
  line({ method: 'notifications/cancelled', params: { requestId: 7, reason: 'answered elsewhere' } })
  expect(await late).toBe('answered elsewhere')
  stream.destroy()
})
