// `plugboard serve --http` is killed under load and started again: clients of the official SDK, each in a process of its
// own, go on without a new connect, and no write is made twice.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import {
  legacySession,
  modern,
  rawSession,
  SERVER,
  type ServedGateway,
  serveGateway,
  until,
} from '../support/gateway.ts'

const CLIENT = fileURLToPath(new URL('../support/sdk-client.mjs', import.meta.url))
const ADA = 'the-token-of-ada-4711'
const EVE = 'the-token-of-eve-0815'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function served(era: 'legacy' | 'modern', more: Parameters<typeof serveGateway>[0] = {}) {
  const gateway: ServedGateway = await serveGateway({
    tokens: [ADA, EVE],
    ...more,
    servers: {
      one: {
        command: process.execPath,
        args: [SERVER],
        env: { ERA: era, FILE: '${HOME}/written', NAME: 'one' },
      },
    },
  })
  ends.push(() => gateway.remove())
  const written = () => {
    const file = join(gateway.place.home, 'written')
    return existsSync(file)
      ? readFileSync(file, 'utf8')
          .split('\n')
          .filter((line) => line !== '')
      : []
  }
  return { gateway, written }
}

interface Line {
  readonly key?: string
  readonly ok?: boolean
  readonly error?: string
  readonly connected?: string
}

function sdkClient(kind: string, url: string): { child: ChildProcess; lines: Line[] } {
  const child = spawn(process.execPath, [CLIENT, kind, url, ADA, 'mcp__one__write'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  ends.push(() => child.kill('SIGKILL'))
  const lines: Line[] = []
  let rest = ''
  child.stdout?.on('data', (chunk) => {
    const whole = (rest + chunk).split('\n')
    rest = whole.pop() ?? ''
    for (const line of whole) lines.push(JSON.parse(line))
  })
  return { child, lines }
}

describe('a gateway that is killed and started again', () => {
  it('goes on with clients of the SDK v1 and v2, of both versions, and writes nothing twice', async () => {
    const { gateway, written } = await served('legacy')
    const clients = ['v1', 'v2-legacy', 'v2-modern'].map((kind) => sdkClient(kind, gateway.url))
    const count = ({ lines }: { lines: Line[] }) => lines.filter(({ ok }) => ok).length
    await until(() => clients.every((one) => count(one) >= 20), 60_000)
    for (let round = 0; round < 2; round++) {
      expect(await gateway.stop('SIGKILL')).toBe('SIGKILL')
      await gateway.start()
      const before = clients.map(count)
      await until(
        () => clients.every((one, at) => count(one) >= (before[at] ?? 0) + 20),
        60_000,
        () => JSON.stringify(clients.map(({ lines }) => lines.slice(-3))),
      )
    }
    for (const { child } of clients) child.kill('SIGKILL')
    const keys = written()
    expect(new Set(keys).size).toBe(keys.length)
    const made = clients.flatMap(({ lines }) => lines.filter(({ ok }) => ok).map(({ key }) => key))
    expect(made.length).toBeGreaterThan(100)
    expect(keys).toEqual(expect.arrayContaining(made))
    expect(clients.flatMap(({ lines }) => lines.filter(({ connected }) => connected))).toHaveLength(3)
  }, 240_000)

  it('knows a session by its id, refuses other owners and changed ids, and does not bring an ended one back', async () => {
    const { gateway } = await served('legacy')
    const kept = await legacySession(gateway.url, ADA)
    const ended = await legacySession(gateway.url, ADA)
    const gone = await fetch(gateway.url, { method: 'DELETE', headers: ended.headers })
    expect(gone.status).toBe(204)
    await gateway.stop('SIGKILL')
    await gateway.start()
    expect((await ended.call('mcp__one__read')).status).toBe(404)
    expect((await rawSession(gateway.url, kept.id, EVE).call('mcp__one__read')).status).toBe(404)
    expect((await rawSession(gateway.url, `${kept.id}A`, ADA).call('mcp__one__read')).status).toBe(404)
    expect(
      (await rawSession(gateway.url, `x.${kept.id.split('.')[1]}`, ADA).call('mcp__one__read')).status,
    ).toBe(404)
    const answer = await kept.call('mcp__one__read')
    expect(answer).toMatchObject({ status: 200, message: { result: { content: [{ type: 'text' }] } } })
    // The client is told that its lists may be out of date.
    const stream = await fetch(gateway.url, { headers: { ...kept.headers, accept: 'text/event-stream' } })
    const reader = stream.body?.getReader()
    let heard = ''
    while (reader && !heard.includes('tools/list_changed'))
      heard += new TextDecoder().decode((await reader.read()).value)
    await reader?.cancel()
    const keys = join(gateway.place.home, '.plugboard', 'state', 'gateway-keys.json')
    expect(statSync(keys).mode & 0o777).toBe(0o600)
  }, 120_000)

  it('tells a client that resumes a stream of the earlier process that its outcome is unknown', async () => {
    const { gateway } = await served('legacy')
    const session = await legacySession(gateway.url, ADA)
    // The id of an event on the stream of request 7, as the earlier process gave it.
    const event = `3-12-${Buffer.from('7').toString('base64url')}`
    await gateway.stop('SIGKILL')
    await gateway.start()
    const headers = { ...session.headers, accept: 'text/event-stream', 'last-event-id': event }
    const text = await (await fetch(gateway.url, { headers })).text()
    expect(text).toContain('"id":7')
    expect(text).toContain('OUTCOME_UNKNOWN')
  }, 120_000)

  it('shares its sessions with other processes by PLUGBOARD_KEYS, of which the first seals and all open', async () => {
    const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')
    const first = await served('legacy', { env: { PLUGBOARD_KEYS: `a:${key(1)}` } })
    const session = await legacySession(first.gateway.url, ADA)
    expect(session.id).toMatch(/^a\./)
    const second = await served('legacy', { env: { PLUGBOARD_KEYS: `b:${key(2)},a:${key(1)}` } })
    expect((await rawSession(second.gateway.url, session.id, ADA).call('mcp__one__read')).status).toBe(200)
    const third = await served('legacy', { env: { PLUGBOARD_KEYS: `a:${key(3)}` } })
    expect((await rawSession(third.gateway.url, session.id, ADA).call('mcp__one__read')).status).toBe(404)
    const bad = await first.gateway.place.runWith({ PLUGBOARD_KEYS: 'a:short' }, 'serve', '--http')
    expect(bad).toMatchObject({ code: 2, stderr: expect.stringContaining('PLUGBOARD_KEYS') })
  }, 120_000)
})

describe('a question that was open when the gateway was killed', () => {
  const order = { name: 'mcp__one__order', arguments: { key: 'k' } }
  const answer = (key: string, name: string) => ({ [key]: { action: 'accept', content: { name } } })

  it('of a server of 2026-07-28 is answered after the restart, once, by its owner and for its request', async () => {
    const { gateway, written } = await served('modern')
    const asked = await modern(gateway.url, ADA, 'tools/call', order)
    expect(asked.message.result).toMatchObject({ resultType: 'input_required', inputRequests: { first: {} } })
    const { requestState } = asked.message.result
    expect(requestState).not.toContain('secret')
    await gateway.stop('SIGKILL')
    await gateway.start()
    const first = { ...order, requestState, inputResponses: answer('first', 'Ada') }
    const refused = { error: { code: -32602 } }
    expect((await modern(gateway.url, EVE, 'tools/call', first)).message).toMatchObject(refused)
    const other = { ...first, arguments: { key: 'another' } }
    expect((await modern(gateway.url, ADA, 'tools/call', other)).message).toMatchObject(refused)
    for (const state of [`${requestState}A`, requestState.slice(0, -2), 'one k secret', 'a.b', '', 7]) {
      const forged = { ...first, requestState: state }
      expect((await modern(gateway.url, ADA, 'tools/call', forged)).message).toMatchObject(refused)
    }
    const second = await modern(gateway.url, ADA, 'tools/call', first)
    expect(second.message.result).toMatchObject({
      resultType: 'input_required',
      inputRequests: { second: { params: { message: 'Sure, Ada?' } } },
    })
    // The same answer is not passed on a second time, in this process and in the next.
    expect((await modern(gateway.url, ADA, 'tools/call', first)).message.error.message).toContain(
      'OUTCOME_UNKNOWN',
    )
    const last = {
      ...order,
      requestState: second.message.result.requestState,
      inputResponses: answer('second', 'Ada'),
    }
    expect((await modern(gateway.url, ADA, 'tools/call', last)).message.result).toMatchObject({
      content: [{ text: 'ordered Ada' }],
    })
    expect((await modern(gateway.url, ADA, 'tools/call', last)).message).toMatchObject(refused)
    await gateway.stop('SIGKILL')
    await gateway.start()
    expect((await modern(gateway.url, ADA, 'tools/call', last)).message.error.message).toContain(
      'OUTCOME_UNKNOWN',
    )
    expect(written()).toEqual(['k Ada'])
  }, 120_000)

  it('of a legacy server is lost, and the client is told', async () => {
    const { gateway } = await served('legacy')
    const call = { name: 'mcp__one__ask', arguments: { who: 'Ada' } }
    const { requestState } = (await modern(gateway.url, ADA, 'tools/call', call)).message.result
    await gateway.stop('SIGKILL')
    await gateway.start()
    const retry = { ...call, requestState, inputResponses: answer('input-1', 'Ada') }
    const { error } = (await modern(gateway.url, ADA, 'tools/call', retry)).message
    expect(error).toMatchObject({ data: { code: 'OUTCOME_UNKNOWN' } })
    expect(error.message).toContain('has ended')
  }, 120_000)
})
