// Arguments that also travel in headers (2026-07-28): what proxies read there must be what is called.
import { expect, it } from 'vitest'
import { bare, connect, firstText, makeGateway, serve } from '../fixtures/kit.ts'

const HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'mcp__one__given',
}
const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
}
const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`

function caller(url: string) {
  return async (args: object, headers: Record<string, string> = {}) => {
    const params = { name: 'mcp__one__given', arguments: args, _meta: META }
    const response = await fetch(url, {
      method: 'POST',
      headers: { ...HEADERS, ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    })
    const { error } = (await response.json()) as { error?: { code: number; message: string } }
    return { status: response.status, ...error }
  }
}

it('are compared with the body, and a call is refused where they differ', async () => {
  const gateway = await makeGateway([bare('one')])
  await gateway.wake(15_000)
  const call = caller((await serve(gateway)).url)
  const mismatch = { status: 400, code: -32020 }
  const fine = { status: 200 }
  expect(await call({ region: 'eu' }, { 'mcp-param-region': 'eu' })).toEqual(fine)
  expect(await call({ region: 'eu' }, { 'mcp-param-region': base64('eu') })).toEqual(fine)
  expect(await call({ region: 'Österreich' }, { 'mcp-param-region': base64('Österreich') })).toEqual(fine)
  expect(await call({ region: 'eu' })).toMatchObject({
    ...mismatch,
    message: 'The header Mcp-Param-Region is missing.',
  })
  expect(await call({ region: 'eu' }, { 'mcp-param-region': 'us' })).toMatchObject(mismatch)
  for (const broken of ['=?base64?ZXU?=', '=?base64?Z!U=?=', base64('us')])
    expect(await call({ region: 'eu' }, { 'mcp-param-region': broken })).toMatchObject(mismatch)
  for (const literal of ['=?base64?ZXU=', 'ZXU=?='])
    expect(await call({ region: literal }, { 'mcp-param-region': literal })).toEqual(fine)
  expect(await call({ deep: { count: 42 } }, { 'mcp-param-count': '42.0' })).toEqual(fine)
  expect(await call({ deep: { count: 42 } }, { 'mcp-param-count': '43' })).toMatchObject(mismatch)
  expect(await call({ deep: { count: 42 } })).toMatchObject(mismatch)
  expect(await call({ region: null }, { 'mcp-param-region': 'eu' })).toEqual(fine)
  expect(await call({})).toEqual(fine)
})

it('are compared as well when the server is not up yet', async () => {
  const gateway = await makeGateway([bare('one', 1000)])
  const call = caller((await serve(gateway)).url)
  expect(await call({ region: 'eu' }, { 'mcp-param-region': 'us' })).toMatchObject({ code: -32020 })
})

it('are sent by clients of the SDK, and may be sent by web pages', async () => {
  const gateway = await makeGateway([bare('one')])
  await gateway.wake(15_000)
  const { url, port } = await serve(gateway)
  const client = await connect(url, { era: 'modern' })
  await client.listTools()
  const result = await client.callTool({ name: 'mcp__one__given', arguments: { region: 'eu' } })
  expect(firstText(result)).toContain('"region":"eu"')
  const asked = await fetch(url, {
    method: 'OPTIONS',
    headers: {
      origin: `http://127.0.0.1:${port}`,
      'access-control-request-headers': 'mcp-param-region, x-other',
    },
  })
  const allowed = asked.headers.get('access-control-allow-headers')
  expect(allowed).toContain('mcp-param-region')
  expect(allowed).not.toContain('x-other')
})
