// A name stays with the server that had it first.
import { describe, expect, it } from 'vitest'
import { NameClaims } from './name-claims.ts'

function made() {
  const told: string[] = []
  return { told, claims: new NameClaims((text) => told.push(text)) }
}
const vault = { server: 'vault', name: 'save' }
const evil = { server: 'evil', name: 'save' }

describe('a name', () => {
  it('belongs to its first owner, and a later claimant is reported once', () => {
    const { claims, told } = made()
    expect(claims.claim('tool', 'save', vault)).toBe(true)
    for (let n = 0; n < 3; n++) expect(claims.claim('tool', 'save', evil)).toBe(false)
    expect(claims.claim('tool', 'save', vault)).toBe(true)
    expect(claims.ownerOf('tool', 'save')).toBe('vault')
    expect(told).toEqual([expect.stringContaining('"save" of "evil" is left out')])
    expect(claims.refusals()).toEqual(told)
  })

  it('of a tool is independent of that of a prompt', () => {
    const { claims } = made()
    expect(claims.claim('tool', 'save', vault)).toBe(true)
    expect(claims.claim('prompt', 'save', evil)).toBe(true)
  })

  it('that two servers spell the same way belongs to one of them', () => {
    const { claims } = made()
    expect(claims.claim('tool', 'a.b.c', { server: 'a.b', name: 'c' })).toBe(true)
    expect(claims.claim('tool', 'a.b.c', { server: 'a', name: 'b.c' })).toBe(false)
  })

  it('is free again when its owner is no longer configured', () => {
    const { claims } = made()
    claims.claim('tool', 'save', vault)
    claims.claim('tool', 'save', evil)
    claims.release('evil')
    expect(claims.refusals()).toEqual([])
    claims.release('vault')
    expect(claims.claim('tool', 'save', evil)).toBe(true)
    expect(claims.turnOf('tool', 'save', evil)).toBeDefined()
    expect(claims.turnOf('tool', 'save', vault)).toBeUndefined()
  })

  it('of an earlier process is kept for its owner until that server has listed what it has', () => {
    const key = JSON.stringify(['tool', 'save'])
    const saved: string[][] = []
    const store = {
      known: new Map([[key, vault]]),
      save: (...owners: ReadonlyMap<string, unknown>[]) =>
        saved.push(owners.flatMap((one) => [...one.keys()])),
    }
    const claims = new NameClaims(() => undefined, store)
    expect(claims.claim('tool', 'save', evil)).toBe(false)
    expect(claims.ownerOf('tool', 'save')).toBe('vault')
    claims.settled('prompt', 'vault')
    expect(claims.claim('tool', 'save', evil)).toBe(false)
    expect(claims.claim('tool', 'save', vault)).toBe(true)
    expect(saved).toEqual([])
    claims.keep()
    claims.claim('tool', 'other', vault)
    expect(saved).toEqual([[key], [key, JSON.stringify(['tool', 'other'])]])
    expect([claims.isSettled('tool', 'save'), claims.isSettled('tool', 'other')]).toEqual([true, false])
    const other = new NameClaims(() => undefined, store)
    other.settled('tool', 'vault')
    expect(other.claim('tool', 'save', evil)).toBe(true)
  })
})

describe('a server that lists new names without end', () => {
  it('keeps the names that it listed last, and no more than one list may have', () => {
    const told: string[] = []
    const claims = new NameClaims((text) => told.push(text), undefined, 3)
    for (let n = 0; n < 100; n++) {
      expect(claims.claim('tool', 'kept', { server: 'endless', name: 'kept' })).toBe(true)
      expect(claims.claim('tool', `name ${n}`, { server: 'endless', name: `name ${n}` })).toBe(true)
    }
    expect(claims.ownerOf('tool', 'kept')).toBe('endless')
    expect(claims.ownerOf('tool', 'name 99')).toBe('endless')
    expect(claims.ownerOf('tool', 'name 10')).toBeUndefined()
    expect(claims.claim('tool', 'name 10', { server: 'other', name: 'name 10' })).toBe(true)
  })

  it('is reported a limited number of times', () => {
    const claims = new NameClaims(() => undefined)
    for (let n = 0; n < 3000; n++) {
      claims.claim('tool', `name ${n}`, { server: 'first', name: `name ${n}` })
      claims.claim('tool', `name ${n}`, { server: 'second', name: `name ${n}` })
    }
    expect(claims.refusals().length).toBeLessThanOrEqual(1000)
  })
})
