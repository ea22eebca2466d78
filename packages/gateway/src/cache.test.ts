// How long clients may keep lists, and what they are listed before the servers are up.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import {
  bare,
  connect,
  firstText,
  folder,
  makeGateway,
  modernRequest,
  seenIn,
  serve,
  stdio,
  until,
} from './fixtures/kit.ts'
import { type GatewayOptions, readExposure } from './index.ts'
import { LIST_TTL } from './views/cache-hints.ts'

const script = fileURLToPath(new URL('./fixtures/hints.mjs', import.meta.url))

function hinting(env: Record<string, string>, dir = folder(), name = 'hints') {
  const names = join(dir, 'names')
  return { dir, names, server: stdio(name, [script], { NAMES: names, SEEN: join(dir, 'seen'), ...env }) }
}

async function served(env: Record<string, string>, options: GatewayOptions = {}, token?: string) {
  const { server, names, dir } = hinting(env)
  writeFileSync(names, 'first second')
  const gateway = await makeGateway([server], options)
  await gateway.wake(20_000)
  const grants = token ? [{ token, exposure: readExposure([]) }] : []
  return { gateway, names, dir, url: (await serve(gateway, grants)).url }
}

describe('what a list says about how long it may be kept', () => {
  const usual = LIST_TTL.usual
  it.each([
    [
      'the time of a server that reports changes',
      { TTL: '7000', SCOPE: 'public', CHANGES: '1' },
      7000,
      'public',
    ],
    ['until a change, where the server says nothing', { CHANGES: '1' }, usual, 'private'],
    ['until a change, where its own time is nothing', { TTL: '0', CHANGES: '1' }, usual, 'private'],
    ['nothing that lasts, where no change would be reported', { TTL: '0' }, 0, 'private'],
  ])('is %s', async (_, env, ttlMs, cacheScope) => {
    const { url } = await served(env as Record<string, string>)
    expect(await modernRequest(url, 'tools/list')).toMatchObject({ ttlMs, cacheScope })
  })

  it('is for one client alone where a token decides, and is passed on with a resource', async () => {
    const env = { TTL: '7000', SCOPE: 'public', CHANGES: '1' }
    const { url } = await served(env, {}, 'a-token-of-one-client')
    const own = await modernRequest(url, 'tools/list', {}, { token: 'a-token-of-one-client' })
    expect(own).toMatchObject({ ttlMs: 7000, cacheScope: 'private' })
    const open = await served(env)
    expect(
      await modernRequest(open.url, 'resources/read', { uri: 'plugboard://hints/note://one' }),
    ).toMatchObject({
      ttlMs: 7000,
      cacheScope: 'public',
    })
    expect(await modernRequest(open.url, 'resources/read', { uri: 'plugboard://status' })).toMatchObject({
      ttlMs: 0,
      cacheScope: 'private',
    })
  })

  it('does not depend on the servers in search mode', async () => {
    const { url } = await served({ TTL: '0' }, { mode: 'search' })
    expect(await modernRequest(url, 'tools/list')).toMatchObject({ ttlMs: usual })
  })

  it('is nothing that a legacy client would not expect', async () => {
    const { url } = await served({ TTL: '7000' })
    const list = await (await connect(url)).listTools()
    expect(Object.keys(list)).toEqual(['tools'])
  })
})

it('lists the same bytes after a server came back or its entry changed', async () => {
  const one = hinting({ CHANGES: '1' })
  writeFileSync(one.names, 'alpha beta')
  const two = hinting({ CHANGES: '1' }, folder(), 'other')
  writeFileSync(two.names, 'gamma')
  const gateway = await makeGateway([one.server, two.server])
  await gateway.wake(20_000)
  const { url } = await serve(gateway)
  const lists = async () =>
    JSON.stringify([await modernRequest(url, 'tools/list'), await modernRequest(url, 'resources/list')])
  const before = await lists()
  await gateway.board.reconnect('hints')
  expect(await lists()).toBe(before)
  const changed = { ...one.server, signature: 'changed', entry: { ...one.server.entry, timeout: 9000 } }
  await gateway.board.link.apply([changed, two.server])
  await gateway.board.link.connection('hints').settled()
  await until(async () => (await lists()) === before)
})

describe('the first list', () => {
  async function twice(firstNames: string, laterNames: string, delay: string) {
    const { server, names, dir } = hinting({ CHANGES: '1', DELAY: delay })
    const stateDir = folder()
    writeFileSync(names, firstNames)
    const earlier = await makeGateway([server], {}, { stateDir, catalog: true })
    await earlier.wake(20_000)
    await earlier.close()
    writeFileSync(names, laterNames)
    const gateway = await makeGateway([server], {}, { stateDir, catalog: true })
    return { gateway, dir, url: (await serve(gateway)).url }
  }

  it('is what an earlier process knew, and a change follows when it was wrong', async () => {
    const { gateway, url } = await twice('kept gone', 'kept added', '1500')
    const news: string[] = []
    const client = await connect(url, {
      prepare: (one) =>
        one.setNotificationHandler('notifications/tools/list_changed', () => void news.push('tools')),
    })
    const names = async () => (await client.listTools()).tools.map(({ name }) => name)
    expect(gateway.board.link.connection('hints').state.kind).toBe('pending')
    expect(await names()).toEqual(['mcp__hints__kept', 'mcp__hints__gone'])
    expect(client.getInstructions()).toContain('How to use hints.')
    const called = await client.callTool({ name: 'mcp__hints__kept', arguments: {} })
    expect(firstText(called)).toBe('kept')
    await until(() => news.length > 0)
    expect(await names()).toEqual(['mcp__hints__kept', 'mcp__hints__added'])
  })

  it('says nothing about a change when it was right', async () => {
    const { gateway, url } = await twice('kept', 'kept', '200')
    const news: string[] = []
    const client = await connect(url, {
      prepare: (one) =>
        one.setNotificationHandler('notifications/tools/list_changed', () => void news.push('tools')),
    })
    await gateway.wake(20_000)
    expect((await client.listTools()).tools).toHaveLength(1)
    expect(news).toEqual([])
  })

  it('waits for a server that no process knew', async () => {
    const gateway = await makeGateway([bare('slow', 700)], {}, { catalog: true })
    const { url } = await serve(gateway)
    expect((await (await connect(url)).listTools()).tools.map(({ name }) => name)).toEqual([
      'mcp__slow__given',
    ])
  })
})

it('reads a list again that its server called out of date', async () => {
  const { gateway, url, names, dir } = await served({ TTL: '0' })
  const reads = () =>
    seenIn(dir)
      .split('\n')
      .filter((line) => line === 'tools/list').length
  await modernRequest(url, 'tools/list')
  expect(reads()).toBe(1)
  writeFileSync(names, 'third')
  const { tools } = gateway.board.link.connection('hints').catalog
  Object.assign(tools.cacheHint ?? {}, { at: 0 })
  await modernRequest(url, 'tools/list')
  await until(async () =>
    JSON.stringify(await modernRequest(url, 'tools/list')).includes('mcp__hints__third'),
  )
})
