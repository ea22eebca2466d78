// What was sealed comes back unchanged or not at all, whatever a client does to it; and where the keys come from.
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { folder } from '../fixtures/kit.ts'
import { freshKey, KeyRing } from './key-ring.ts'
import { gatewayKeys, parseKeys } from './key-store.ts'
import { SpentIds } from './spent-ids.ts'

const DAY = 24 * 60 * 60 * 1000

describe('a sealed value', () => {
  const ring = new KeyRing([freshKey()])

  it('opens to what it was, for its purpose only', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (value) => {
        const text = ring.seal('session', value)
        expect(text).toMatch(/^[\x21-\x7e]+$/)
        expect(JSON.stringify(ring.open('session', text))).toBe(JSON.stringify(value))
        expect(ring.open('requestState', text)).toBeUndefined()
      }),
    )
  })

  it('opens to nothing when a single character of it is another one', () => {
    const text = ring.seal('session', { owner: 'ada' })
    fc.assert(
      fc.property(fc.nat(text.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, char) => {
        fc.pre(text[at] !== char)
        expect(ring.open('session', `${text.slice(0, at)}${char}${text.slice(at + 1)}`)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
    for (const wrong of ['', '.', 'a.b', text.slice(0, -1), `${text}=`, `${text}A`, 7, undefined, null])
      expect(ring.open('session', wrong)).toBeUndefined()
  })

  it('needs a ring of at least one key, each of its length', () => {
    expect(() => new KeyRing([])).toThrow('at least one key')
    for (const bytes of [0, 31, 33])
      expect(() => new KeyRing([{ kid: 'k', key: Buffer.alloc(bytes) }])).toThrow('does not have 32 bytes')
    expect(() => ring.replace([])).toThrow(RangeError)
    expect(ring.open('session', ring.seal('session', { still: 'here' }))).toEqual({ still: 'here' })
  })

  it('opens under every key of a ring, and is sealed with the first', () => {
    const [old, fresh] = [freshKey(), freshKey()]
    const before = new KeyRing([old]).seal('session', { n: 1 })
    const both = new KeyRing([fresh, old])
    expect(both.open('session', before)).toEqual({ n: 1 })
    const after = both.seal('session', { n: 2 })
    expect(new KeyRing([old]).open('session', after)).toBeUndefined()
    expect(new KeyRing([{ kid: fresh.kid, key: old.key }]).open('session', after)).toBeUndefined()
  })
})

describe('keys', () => {
  it('are made once, for the user alone, and read by the next process', async () => {
    const stateDir = join(folder(), 'state')
    const options = { stateDir, env: {}, now: () => 1_000_000 }
    const [one, two] = await Promise.all([gatewayKeys(options), gatewayKeys(options)])
    expect(two).toEqual(one)
    expect(await gatewayKeys(options)).toEqual(one)
    expect(statSync(join(stateDir, 'gateway-keys.json')).mode & 0o777).toBe(0o600)
  })

  it('are rotated: a new one opens for a day before it seals, an old one opens as long as it may be needed', async () => {
    const stateDir = folder()
    let now = 100 * DAY
    const keys = () => gatewayKeys({ stateDir, env: {}, now: () => now })
    const [first] = await keys()
    now += 31 * DAY
    const [sealing, second] = await keys()
    expect(sealing).toEqual(first)
    expect(second).not.toEqual(first)
    now += DAY
    expect(await keys()).toEqual([second, first])
    now += 31 * DAY
    expect((await keys()).map(({ kid }) => kid)).not.toContain(first?.kid)
  })

  it('are made anew when their file is broken', async () => {
    const stateDir = folder()
    const file = join(stateDir, 'gateway-keys.json')
    writeFileSync(file, '{"keys": [{"kid": 1')
    expect(await gatewayKeys({ stateDir, env: {}, now: Date.now })).toHaveLength(1)
    expect(JSON.parse(readFileSync(file, 'utf8')).keys).toHaveLength(1)
  })

  it('of the environment must be 32 bytes with an id each', () => {
    const key = Buffer.alloc(32, 7).toString('base64')
    expect(parseKeys(`a:${key}, b:${key}`).map(({ kid }) => kid)).toEqual(['a', 'b'])
    for (const wrong of [key, `:${key}`, 'a:', `a:${key},a:${key}`, `a b:${key}`, `a:${key},`])
      expect(() => parseKeys(wrong)).toThrow('PLUGBOARD_KEYS')
  })
})

describe('spent ids', () => {
  it('are known to the next process, and to another one on the same folder, until they expire', async () => {
    const file = join(folder(), 'state', 'spent')
    let now = 1000
    const one = await new SpentIds(file, () => now).open()
    await one.add('a', 5000)
    const two = await new SpentIds(file, () => now).open()
    expect(await two.has('a')).toBe(true)
    await one.add('b', 9000)
    expect(await two.has('b')).toBe(true)
    expect(await two.has('c')).toBe(false)
    now = 6000
    const later = await new SpentIds(file, () => now).open()
    expect([await later.has('a'), await later.has('b')]).toEqual([false, true])
    expect(readFileSync(file, 'utf8')).toBe('b 9000\n')
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })
})
