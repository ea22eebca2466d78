// Unusual HTTP: bodies that are announced first or compressed, unknown protocol versions, and clients that leave during
// the handshake.
import { connect as dial } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { bare, makeGateway, serve, until } from './fixtures/kit.ts'

const TOKEN = 'a-token-for-the-tests'
const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  authorization: `Bearer ${TOKEN}`,
}
const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
})

function post(url: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) {
  return fetch(url, { method: 'POST', headers: { ...HEADERS, ...headers }, body })
}

/** Announces a body, sends it when the server asks for it, and returns everything the server wrote. */
function announced(port: number, body: string, headers: Record<string, string | number>): Promise<string> {
  const all = {
    Host: 'localhost',
    Expect: '100-continue',
    ...HEADERS,
    'content-length': body.length,
    ...headers,
  }
  const head = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return new Promise((done, fail) => {
    const socket = dial(port, '127.0.0.1', () => socket.write(`POST /mcp HTTP/1.1\r\n${head.join('')}\r\n`))
    let got = ''
    socket.setTimeout(10_000, () => socket.destroy())
    socket.on('data', (chunk) => {
      got += String(chunk)
      if (got === 'HTTP/1.1 100 Continue\r\n\r\n') socket.write(body)
    })
    socket.on('close', () => done(got))
    socket.on('error', fail)
  })
}

it('asks for an announced body only when it would read it', async () => {
  const gateway = await makeGateway([])
  const { port } = await serve(gateway, [{ token: TOKEN, exposure: gateway.expose }])
  expect(await announced(port, INITIALIZE, {})).toMatch(/^HTTP\/1\.1 100 [\s\S]*HTTP\/1\.1 200 /)
  expect(await announced(port, INITIALIZE, { authorization: 'Bearer wrong' })).toMatch(/^HTTP\/1\.1 401 /)
  expect(await announced(port, INITIALIZE, { 'content-length': 20_000_000 })).toMatch(/^HTTP\/1\.1 413 /)
})

it('refuses a compressed body and says why', async () => {
  const gateway = await makeGateway([])
  const { url } = await serve(gateway, [{ token: TOKEN, exposure: gateway.expose }])
  const answer = await post(url, new Uint8Array(gzipSync(INITIALIZE)), { 'content-encoding': 'gzip' })
  expect(answer.status).toBe(415)
  expect(answer.headers.get('accept-encoding')).toBe('identity')
})

it('refuses unknown versions, whatever the message', async () => {
  const gateway = await makeGateway([])
  const { url } = await serve(gateway, [{ token: TOKEN, exposure: gateway.expose }])
  const session = (await post(url, INITIALIZE)).headers.get('mcp-session-id') ?? ''
  const said = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
  const ping = '{"jsonrpc":"2.0","id":2,"method":"ping"}'
  for (const version of ['1999-01-01', 'banana', '2099-01-01']) {
    const headers = { 'mcp-session-id': session, 'mcp-protocol-version': version }
    expect((await post(url, said, headers)).status).toBe(400)
    expect((await post(url, ping, headers)).status).toBe(400)
    expect((await fetch(url, { headers: { ...HEADERS, ...headers } })).status).toBe(400)
  }
  const known = { 'mcp-session-id': session, 'mcp-protocol-version': '2025-06-18' }
  expect((await post(url, said, known)).status).toBe(202)
})

it('forgets a client that leaves during the handshake', async () => {
  const gateway = await makeGateway([bare('late', 1500)])
  const { url } = await serve(gateway)
  const leaving = new AbortController()
  const handshake = fetch(url, { method: 'POST', headers: HEADERS, body: INITIALIZE, signal: leaving.signal })
  const staying = post(url, INITIALIZE)
  setTimeout(() => leaving.abort(), 300)
  await expect(handshake).rejects.toThrow()
  expect((await staying).status).toBe(200)
  await until(() => gateway.notifications.listeners === 1)
})
