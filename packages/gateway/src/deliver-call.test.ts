// How much of a result a client gets: all of it, what it selects, or the beginning of a large one and an address for the rest.
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { connect, firstText, folder, makeGateway, serve, stdio, until } from './fixtures/kit.ts'
import { type GatewayOptions, readExposure } from './index.ts'
import { ResultStore } from './parts.ts'

const tables = stdio('t', [fileURLToPath(new URL('./fixtures/tables.mjs', import.meta.url))])

async function served(options: GatewayOptions, era: 'legacy' | 'modern' = 'legacy') {
  const gateway = await makeGateway([tables], options)
  await gateway.wake(20_000)
  const { url } = await serve(gateway)
  return { gateway, url, client: await connect(url, { era }) }
}

/** `call_tool`, as search mode has it. */
async function callTool(client: Client, name: string, args: object, select?: string) {
  const result = await client.callTool({
    name: 'call_tool',
    arguments: {
      name: name.includes(':') ? name : `mcp__t__${name}`,
      arguments: { ...args },
      ...(select !== undefined && { select }),
    },
  })
  return {
    result,
    isError: result.isError === true,
    text: firstText(result),
    all: JSON.stringify(result.content),
  }
}
const addressIn = (text: string) => /plugboard:\/\/results\/[\w-]{22}/.exec(text)?.[0] ?? ''

describe.each(['legacy', 'modern'] as const)('a selection of a %s client', (era) => {
  it('takes a part of structured content or of JSON text, and says what is wrong with an expression', async () => {
    const { client } = await served({ mode: 'search' }, era)
    const part = await callTool(client, 'rows', { count: 5 }, 'rows[?id > `2`].{id: id, who: owner.login}')
    expect(JSON.parse(part.text)).toEqual([
      { id: 3, who: 'user 3' },
      { id: 4, who: 'user 4' },
    ])
    expect((await callTool(client, 'rows', {}, '{n: total}')).result.structuredContent).toEqual({ n: 3 })
    expect((await callTool(client, 'json', {}, '[*].name | join(`", "`, @)')).text).toBe(
      '"name 0, name 1, name 2"',
    )

    const wrongName = await callTool(client, 'rows', {}, 'rows[*].nam')
    expect(wrongName).toMatchObject({ isError: true })
    expect(wrongName.text).toBe(
      'The call was not made: the result has no "nam", which "rows[*].nam" selects. The result has the shape {rows: [{id: integer, name: string, owner: {login: string}}], total: integer}.',
    )
    expect((await callTool(client, 'rows', {}, 'rows[')).text).toContain('is no JMESPath expression')
    const wrongType = await callTool(client, 'json', {}, 'sum([*].name)')
    expect(wrongType.isError).toBe(true)
    expect(wrongType.text).toContain('Its shape: [{id: number, name: string, owner: {login: string}}] × 3')
    // The result was kept: the call need not be made again.
    const again = await callTool(
      client,
      `${addressIn(wrongType.text)}?select=${encodeURIComponent('sum([*].id)')}`,
      {},
    )
    expect(again.text).toBe('3')
    expect((await callTool(client, 'json', {}, '[*].nothing')).text).toBe('[]')
    expect((await callTool(client, 'json', {}, 'nothing')).all).toContain('selects nothing')
    expect((await callTool(client, 'lines', {}, 'a')).text).toContain('the result is text, not JSON')
    expect((await callTool(client, 'fails', {}, 'a')).text).toBe('yyy')
  })
})

describe('a large result', () => {
  it('stays here in search mode; its rows, lines and fields can be read', async () => {
    const { client } = await served({ mode: 'search' })
    const { text, result, all } = await callTool(client, 'json', { count: 5000 })
    expect(text.length).toBeLessThan(4000)
    expect(text).toMatch(
      /^The result has 2\d\d,\d{3} characters in 5,000 rows\. It stays at plugboard:\/\/results\//,
    )
    expect(text).toContain('Shape: [{id: number, name: string, owner: {login: string}}] × 5000')
    expect(text).toContain('{"id":0,"name":"name 0"')
    expect(all).toContain('"type":"resource_link"')
    expect(result.isError).not.toBe(true)
    const uri = addressIn(text)
    const read = async (query: string) => {
      const { contents } = await client.readResource({ uri: `${uri}${query}` })
      return contents[0] as { text: string; mimeType: string }
    }
    expect(JSON.parse((await read('?range=11-12')).text).map(({ id }: { id: number }) => id)).toEqual([
      10, 11,
    ])
    expect((await read(`?select=${encodeURIComponent('[?id==`4999`].name | [0]')}`)).text).toBe('"name 4999"')
    expect(JSON.parse((await read('?select=[].id&range=4999-')).text)).toEqual([4998, 4999])
    expect(JSON.parse((await read('')).text)).toHaveLength(5000)
    // A model that has tools only.
    expect((await callTool(client, `${uri}?range=1-1`, {})).text).toContain('"id":0')
    const all5000 = await callTool(client, uri, {})
    expect(all5000.isError).toBe(true)
    expect(all5000.text).toContain('Ask for less of its 5,000 rows')
    for (const [query, problem] of [
      ['?range=9-1', 'is no range'],
      ['?range=0-1', 'is no range'],
      ['?select=sum([].name)', 'got an array of string'],
      ['?rang=1-2', '"rang" is no part'],
    ] as const) {
      await expect(read(query)).rejects.toThrow(problem)
      expect((await callTool(client, `${uri}${query}`, {})).text).toContain(problem)
    }
  })

  it('of text is read by lines, and pictures come along', async () => {
    const { client } = await served({ mode: 'search' })
    const { text } = await callTool(client, 'lines', { count: 20_000 })
    expect(text).toContain('in 20,000 lines')
    expect(text).toContain('It begins:\nline 1\nline 2\n')
    expect((await callTool(client, `${addressIn(text)}?range=19999-`, {})).text).toBe(
      'line 19999\nline 20000',
    )
    expect((await callTool(client, 'picture', { count: 150_000 })).all).toContain('"image/png"')
    expect((await callTool(client, 'fails', { count: 150_000 })).text).toHaveLength(150_000)
    const part = await callTool(client, 'rows', { count: 5000 }, 'rows')
    expect(part.text).toContain('in 5,000 rows')
    expect((await callTool(client, `${addressIn(part.text)}?range=2-2`, {})).text).toContain('"id":1,')
  })

  it('is passed on whole to a client that has all tools, unless told otherwise', async () => {
    const direct = (client: Client, name: string) =>
      client.callTool({ name: `mcp__t__${name}`, arguments: { count: 5000 } })
    const whole = await served({})
    expect(firstText(await direct(whole.client, 'json')).length).toBeGreaterThan(100_000)
    expect(firstText(await direct(whole.client, 'rows')).length).toBeGreaterThan(100_000)
    const kept = await served({ large: 'reference', tools: { 't.lines': { result: 'whole' } } })
    const { tools } = await kept.client.listTools()
    // A promise that a kept result could not hold is not made.
    expect(tools.find(({ name }) => name === 'mcp__t__rows')?.outputSchema).toBeUndefined()
    expect(firstText(await direct(kept.client, 'rows'))).toMatch(/^The result has/)
    const lines = await kept.client.callTool({ name: 'mcp__t__lines', arguments: { count: 20_000 } })
    expect(firstText(lines)).toHaveLength(
      firstText(await whole.client.callTool({ name: 'mcp__t__lines', arguments: { count: 20_000 } })).length,
    )
  })

  it('is for the owner of the call alone', async () => {
    const gateway = await makeGateway([tables], { mode: 'search' })
    await gateway.wake(20_000)
    const grants = ['token-of-ada-0000', 'token-of-ben-0000'].map((token) => ({
      token,
      exposure: readExposure([]),
    }))
    const { url } = await serve(gateway, grants)
    const ada = await connect(url, { token: 'token-of-ada-0000' })
    const { text } = await callTool(ada, 'json', { count: 5000 })
    const uri = addressIn(text)
    // Another session, and another era, of the same owner.
    const later = await connect(url, { token: 'token-of-ada-0000', era: 'modern' })
    expect((await later.readResource({ uri: `${uri}?range=1-1` })).contents).toHaveLength(1)
    for (const era of ['legacy', 'modern'] as const) {
      const ben = await connect(url, { token: 'token-of-ben-0000', era })
      await expect(ben.readResource({ uri })).rejects.toThrow()
      expect((await callTool(ben, uri, {})).text).toContain('There is no result at')
    }
  })
})

it('every tool takes _select where the settings say so', async () => {
  const { client } = await served({ select: true })
  const { tools } = await client.listTools()
  for (const tool of tools) {
    expect(Object.keys(tool.inputSchema.properties ?? {})).toEqual(['count', '_select'])
    expect(tool.outputSchema).toBeUndefined()
  }
  const call = (args: Record<string, unknown>) => client.callTool({ name: 'mcp__t__rows', arguments: args })
  expect(firstText(await call({ count: 4, _select: 'total' }))).toBe('4')
  expect(firstText(await call({ _select: 'totl' }))).toContain('no "totl"')
  expect(firstText(await call({ _select: 7 }))).toContain('is a JMESPath expression')
  expect(firstText(await call({ count: 1 }))).toContain('"total":1')
  const plain = await served({})
  const refused = await plain.client.callTool({ name: 'mcp__t__rows', arguments: { _select: 'total' } })
  expect(refused.isError).toBe(true)
})

describe('the store of results', () => {
  const result = (chars: number) => ({ server: 's', tool: 't', result: { content: 'x'.repeat(chars) } })
  const limits = {
    keepMs: 1000,
    memoryChars: 4000,
    diskChars: 40_000,
    spillChars: 1500,
    count: 8,
    ownerShare: 0.5,
  }

  it('forgets after a while, and makes the oldest of an owner leave first', async () => {
    let now = 0
    const store = new ResultStore({ now: () => now, limits })
    const [a, b] = [store.put('ada', result(900)), store.put('ben', result(900))]
    const more = [store.put('ada', result(900)), store.put('ada', result(900))]
    expect(await store.get('ada', a ?? '')).toBeUndefined()
    expect(await store.get('ben', b ?? '')).toBeDefined()
    expect(await store.get('ada', b ?? '')).toBeUndefined()
    expect(await store.get('ada', more[1] ?? '')).toBeDefined()
    expect(store.put('ada', result(5000))).toBeUndefined()
    now = 1001
    expect(await store.get('ben', b ?? '')).toBeUndefined()
    await store.close()
    expect(store.put('ada', result(1))).toBeUndefined()
  })

  it('writes large ones to files of this user, which go with them', async () => {
    const dir = folder()
    const store = new ResultStore({ folder: dir, limits })
    const ids = [5000, 6000, 7000, 8000].map((chars) => store.put('ada', result(chars)))
    await until(() => readdirSync(dir).length === 2)
    for (const [at, id] of ids.entries())
      expect((await store.get('ada', id ?? ''))?.result.content?.toString().length).toBe(
        [undefined, undefined, 7000, 8000][at],
      )
    await store.close()
    expect(readdirSync(dir)).toEqual([])
    const blocked = new ResultStore({ folder: '/proc/no/such', limits })
    const kept = blocked.put('ada', result(5000))
    expect(await blocked.get('ada', kept ?? '')).toBeDefined()
    await blocked.close()
  })
})
