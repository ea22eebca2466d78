// Small functions at their bounds: capabilities, messages, keys, events, and names that an earlier process kept.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { describe, expect, it } from 'vitest'
import { folder } from './fixtures/kit.ts'
import { Replay, replicaOf, requestOf } from './http/replay.ts'
import { declared, readCapabilities, sort } from './json-rpc.ts'
import { gatewayKeys } from './sealing/key-store.ts'
import { NameClaims } from './views/name-claims.ts'

const UI = 'io.modelcontextprotocol/ui'

describe('the capabilities of a client', () => {
  it.each([
    [undefined, {}],
    ['x', {}],
    [{}, {}],
    [{ elicitation: {} }, { elicitation: { form: {} } }],
    [{ elicitation: { form: {} } }, { elicitation: { form: {} } }],
    [{ elicitation: { url: {} } }, { elicitation: { url: {} } }],
    [{ elicitation: { form: {}, url: {} } }, { elicitation: { form: {}, url: {} } }],
    [{ elicitation: true }, {}],
    [{ sampling: {} }, { sampling: {} }],
    [{ sampling: { tools: {} } }, { sampling: { tools: {} } }],
    [{ sampling: 'x' }, {}],
    [{ roots: {} }, { roots: {} }],
    [{ roots: true }, {}],
    [{ extensions: { [UI]: { a: 1 }, other: {} } }, { extensions: { [UI]: { a: 1 } } }],
    [{ extensions: { [UI]: 'x' } }, {}],
    [{ extensions: { other: {} } }, {}],
    [{ extensions: 'x' }, {}],
    [{ extensions: { [UI]: { a: 'x'.repeat(992) } } }, { extensions: { [UI]: { a: 'x'.repeat(992) } } }],
    [{ extensions: { [UI]: { a: 'x'.repeat(993) } } }, { extensions: { [UI]: {} } }],
  ])('%j', (given, wanted) => {
    expect(declared(readCapabilities(given))).toEqual(wanted)
    expect('extensions' in readCapabilities(given)).toBe('extensions' in wanted)
  })
})

describe('a message', () => {
  it.each([
    [[], 'bad', null],
    ['x', 'bad', null],
    [{ id: 1, method: 'm' }, 'bad', null],
    [{ jsonrpc: '1.0', id: 1, method: 'm' }, 'bad', null],
    [{ jsonrpc: '2.0', id: 1, method: 'm', params: [] }, 'bad', 1],
    [{ jsonrpc: '2.0', id: null, method: 'm' }, 'bad', null],
    [{ jsonrpc: '2.0', id: Number.NaN, method: 'm' }, 'bad', null],
    [{ jsonrpc: '2.0', id: 1, method: 'm' }, 'request', 1],
    [{ jsonrpc: '2.0', id: 'a', method: 'm', params: {} }, 'request', 'a'],
    [{ jsonrpc: '2.0', method: 'm' }, 'notification', undefined],
    [{ jsonrpc: '2.0', id: 1, result: {} }, 'reply', 1],
    [{ jsonrpc: '2.0', id: 1, result: 'x' }, 'bad', 1],
    [{ jsonrpc: '2.0', result: {} }, 'bad', null],
    [{ jsonrpc: '2.0', id: 1, error: { code: 5, message: 'x' } }, 'reply', 1],
    [{ jsonrpc: '2.0', id: 1, error: { code: '5' } }, 'bad', 1],
    [{ jsonrpc: '2.0', id: 1, error: 'x' }, 'bad', 1],
    [{ jsonrpc: '2.0', id: 1 }, 'bad', 1],
  ])('%j is %s', (value, kind, id) => {
    const found = sort(value)
    expect(found.kind).toBe(kind)
    const of = found.kind === 'bad' ? found.reply : found.message
    expect('id' in of ? of.id : undefined).toBe(id)
  })
  it('with an error has its text and data, as far as there are any', () => {
    const error = (given: object) => sort({ jsonrpc: '2.0', id: 1, error: { code: 5, ...given } })
    expect(error({})).toEqual({
      kind: 'reply',
      message: { jsonrpc: '2.0', id: 1, error: { code: 5, message: '' } },
    })
    expect(error({ message: 'x', data: 7 })).toMatchObject({ message: { error: { message: 'x', data: 7 } } })
  })
})

describe('the id of an event', () => {
  it('tells the request and the replica, as far as it is one of ours', () => {
    const replay = new Replay(100, 'abc')
    const stream = replay.open('req')
    const [id] = /(?<=id: ).*/.exec(replay.event(stream, { a: 1 })) ?? ['']
    expect([requestOf(id), replicaOf(id)]).toEqual(['req', 'abc'])
    expect(replay.after(id)).toEqual({ stream, frames: [] })
    const [own] = /(?<=id: ).*/.exec(replay.event(0, { a: 1 })) ?? ['']
    expect([own, requestOf(own), replicaOf(own)]).toEqual(['0-102', undefined, undefined])
    const encoded = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const odd of ['x', '1-2', `1-2-${encoded({})}`, '1-2-!', '1-2-AAAA', '1-2-3-4-5~'])
      expect(requestOf(odd)).toBeUndefined()
    expect(requestOf(`1-2-${encoded(7)}`)).toBe(7)
  })

  it('is known for the streams and events that were there', () => {
    const replay = new Replay(100)
    const stream = replay.open()
    replay.event(stream, { n: 1 })
    replay.event(stream, { n: 2 })
    replay.event(0, { n: 3 })
    const frames = (id: string) => replay.after(id)?.frames.length
    expect([frames('101-100'), frames('101-101'), frames('101-102'), frames('101-103')]).toEqual([2, 1, 0, 0])
    expect([frames('0-100'), frames('0-103')]).toEqual([1, 0])
    expect([frames('100-101'), frames('102-101'), frames('101-99'), frames('101-104'), frames('x')]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })

  it('names its request while it is one of the last streams, and short', () => {
    const replay = new Replay()
    const nameOf = (stream: number) => (/(?<=id: ).*/.exec(replay.mark(stream)) ?? [''])[0]
    const first = replay.open(1)
    for (let n = 1; n < GATEWAY_LIMITS.replayEvents; n++) replay.open(n)
    expect(requestOf(nameOf(first))).toBe(1)
    replay.open('last')
    expect(requestOf(nameOf(first))).toBeUndefined()
    const [short, long] = [replay.open('x'.repeat(148)), replay.open('x'.repeat(149))]
    expect([requestOf(nameOf(short))?.toString().length, requestOf(nameOf(long))]).toEqual([148, undefined])
  })

  it('is forgotten with the oldest events, by number and by length', () => {
    const replay = new Replay()
    const { replayEvents, replayChars } = GATEWAY_LIMITS
    for (let n = 0; n < replayEvents; n++) replay.event(0, { n })
    expect(replay.since(0, 0)).toHaveLength(replayEvents)
    replay.event(0, {})
    expect(replay.since(0, 0)).toHaveLength(replayEvents)
    const large = new Replay()
    const text = 'x'.repeat(Math.floor(replayChars / 2))
    large.event(0, { text })
    large.event(0, { text })
    expect(large.since(0, 0)).toHaveLength(1)
  })
})

describe('keys in a file', () => {
  const DAY = 24 * 60 * 60 * 1000
  const key = (byte: number) => Buffer.alloc(32, byte).toString('base64')
  function stored(keys: unknown) {
    const stateDir = folder()
    writeFileSync(join(stateDir, 'gateway-keys.json'), JSON.stringify({ version: 1, keys }))
    return stateDir
  }
  const kids = async (stateDir: string, now: number, env: Record<string, string> = {}) =>
    (await gatewayKeys({ stateDir, env, now: () => now })).map(({ kid }) => kid)

  it('seal from the day after they were made; without such a one the oldest does', async () => {
    const now = 1000 * DAY
    const two = stored([
      { kid: 'new', key: key(1), made: now - DAY + 1 },
      { kid: 'old', key: key(2), made: now - 20 * DAY },
    ])
    expect(await kids(two, now)).toEqual(['old', 'new'])
    expect(await kids(two, now + 1)).toEqual(['new', 'old'])
    expect(await kids(stored([{ kid: 'only', key: key(1), made: now }]), now)).toEqual(['only'])
  })

  it('are rotated when the newest is old, and dropped when they are no longer needed', async () => {
    const now = 1000 * DAY
    const { keyRotationMs } = GATEWAY_LIMITS
    const one = (made: number) => stored([{ kid: 'a', key: key(1), made }])
    expect(await kids(one(now - keyRotationMs + 1), now)).toEqual(['a'])
    expect(await kids(one(now - keyRotationMs), now)).toHaveLength(2)
    const last = 2 * keyRotationMs + DAY
    expect(await kids(one(now - last + 1), now)).toContain('a')
    expect(await kids(one(now - last), now)).not.toContain('a')
  })

  it('that are malformed are left out', async () => {
    const now = 1000 * DAY
    const good = { kid: 'good', key: key(1), made: now }
    const odd = [
      good,
      'x',
      { ...good, kid: 5 },
      { ...good, kid: 'short', key: 'aaaa' },
      { ...good, kid: 'b', made: 'x' },
    ]
    expect(await kids(stored(odd), now)).toEqual(['good'])
    expect(await kids(stored('x'), now)).toHaveLength(1)
  })

  it('of before are used while the folder cannot be written; without any it is an error', async () => {
    const now = 1000 * DAY
    const stateDir = stored([{ kid: 'a', key: key(1), made: now - GATEWAY_LIMITS.keyRotationMs }])
    // The lock cannot be taken: a folder is in its place.
    mkdirSync(join(stateDir, 'gateway-keys.json.lock', 'x'), { recursive: true })
    const blocked = join(folder(), 'file')
    writeFileSync(blocked, '')
    await expect(kids(join(blocked, 'state'), now)).rejects.toThrow()
    expect(await kids(blocked, now, { PLUGBOARD_KEYS: `env:${key(3)}` })).toEqual(['env'])
    expect(await kids(stateDir, now - 1, { PLUGBOARD_KEYS: ' ' })).toEqual(['a'])
  })
})

describe('names that an earlier process kept', () => {
  it('are free when their server is no longer configured, and only then', () => {
    const known = new Map([
      [JSON.stringify(['tool', 'a']), { server: 'one', name: 'a' }],
      [JSON.stringify(['tool', 'b']), { server: 'two', name: 'b' }],
    ])
    const claims = new NameClaims(() => undefined, { known, save: () => undefined })
    claims.release('one')
    expect([claims.ownerOf('tool', 'a'), claims.ownerOf('tool', 'b')]).toEqual([undefined, 'two'])
    expect(claims.claimFree('tool', 'b', { server: 'three', name: 'b' })).toBe(false)
    expect(claims.refusals()).toEqual([])
    expect(claims.claimFree('tool', 'a', { server: 'three', name: 'a' })).toBe(true)
    claims.release('three')
    expect(claims.ownerOf('tool', 'b')).toBe('two')
    expect(new NameClaims(() => undefined).isSettled('tool', 'a')).toBe(false)
  })

  it('of a server that is configured again count from the beginning', () => {
    const claims = new NameClaims(() => undefined, undefined, 2)
    const claim = (name: string, server = 'one') => claims.claim('tool', name, { server, name })
    claim('a')
    claim('b')
    claims.release('one')
    claim('c')
    claim('d')
    expect([claims.ownerOf('tool', 'c'), claims.ownerOf('tool', 'd')]).toEqual(['one', 'one'])
    claim('c')
    claim('e')
    expect([claims.ownerOf('tool', 'c'), claims.ownerOf('tool', 'd')]).toEqual(['one', undefined])
    claim('x', 'two')
    expect(claims.claim('tool', 'x', { server: 'one', name: 'x' })).toBe(false)
    claims.release('two')
    claim('x')
    expect(claims.refusals()).toEqual([])
  })
})
