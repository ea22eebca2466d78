import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { NameRegistry, type ToolRef } from './names.ts'

const safe = /^[A-Za-z0-9_-]{1,64}$/
const part = fc.oneof(
  fc.string({ maxLength: 80, unit: 'binary' }),
  fc.stringMatching(/^[ab_.]{0,6}$/),
  fc.constantFrom('a', 'a__b', 'b__c', 'a.b', 'a_b', '', '__proto__', 'constructor'),
)
const refs = fc.uniqueArray(fc.record({ server: part, tool: part }), {
  maxLength: 40,
  selector: (ref) => JSON.stringify([ref.server, ref.tool]),
})
const named = (list: readonly ToolRef[]) => {
  const registry = new NameRegistry()
  return { registry, names: registry.update(list) }
}

describe('tool names', () => {
  it('are mcp__server__tool when nothing stands in the way', () => {
    expect(named([{ server: 'git', tool: 'log' }]).names).toEqual(['mcp__git__log'])
  })

  it('replace what a provider refuses', () => {
    expect(named([{ server: 'my server', tool: 'files/read.all' }]).names).toEqual([
      'mcp__my_server__files_read_all',
    ])
  })

  it('are cut to 64 characters with a hash, so that two long ones stay apart', () => {
    const long = 'x'.repeat(64)
    const { names } = named([
      { server: 's', tool: `${long}1` },
      { server: 's', tool: `${long}2` },
    ])
    expect(new Set(names).size).toBe(2)
    for (const name of names) expect(name).toMatch(/^mcp__s__x+_[0-9a-f]{8}$/)
    for (const name of names) expect(name).toHaveLength(64)
  })

  it('are unique, safe and reversible for any pairs at all', () => {
    fc.assert(
      fc.property(refs, (list) => {
        const { registry, names } = named(list)
        expect(new Set(names).size).toBe(list.length)
        list.forEach((ref, index) => {
          expect(names[index]).toMatch(safe)
          expect(registry.refOf(names[index] ?? '')).toEqual(ref)
        })
      }),
    )
  })

  it('do not depend on the order in which the tools come', () => {
    fc.assert(
      fc.property(refs, fc.infiniteStream(fc.nat()), (list, chance) => {
        const shuffled = list
          .map((ref) => ({ ref, at: chance.next().value as number }))
          .sort((a, b) => a.at - b.at)
          .map(({ ref }) => ref)
        const first = named(list).registry
        const second = named(shuffled).registry
        for (const ref of list) expect(second.nameOf(ref)).toBe(first.nameOf(ref))
      }),
    )
  })

  it('give a contested name to the pair that was not changed, then to the server without __', () => {
    const { registry } = named([
      { server: 'a__b', tool: 'c' },
      { server: 'a', tool: 'b__c' },
      { server: 'a', tool: 'b.c' },
      { server: 'a', tool: 'b_c' },
    ])
    expect(registry.refOf('mcp__a__b__c')).toEqual({ server: 'a', tool: 'b__c' })
    expect(registry.refOf('mcp__a__b_c')).toEqual({ server: 'a', tool: 'b_c' })
    expect(registry.nameOf({ server: 'a__b', tool: 'c' })).toMatch(/^mcp__a__b__c_[0-9a-f]{8}$/)
  })

  it('stay with their tool when a better claim appears later, and do not pass to another tool when it goes', () => {
    const registry = new NameRegistry()
    registry.update([{ server: 'a__b', tool: 'c' }])
    registry.update([
      { server: 'a', tool: 'b__c' },
      { server: 'a__b', tool: 'c' },
    ])
    expect(registry.refOf('mcp__a__b__c')).toEqual({ server: 'a__b', tool: 'c' })
    registry.update([{ server: 'a', tool: 'b__c' }])
    expect(registry.refOf('mcp__a__b__c')).toBeUndefined()
  })

  it('are found by server.tool too, with dots on either side', () => {
    const { registry } = named([
      { server: 'git', tool: 'repo.log' },
      { server: 'acme.io', tool: 'run' },
    ])
    expect(registry.resolve('git.repo.log')).toMatchObject({ ref: { server: 'git', tool: 'repo.log' } })
    expect(registry.resolve('acme.io.run')).toMatchObject({ ref: { server: 'acme.io', tool: 'run' } })
    expect(registry.resolve('git.nothing')).toEqual({ kind: 'none' })
  })

  it('say so when a spelling fits two tools', () => {
    const { registry } = named([
      { server: 'a', tool: 'b.c' },
      { server: 'a.b', tool: 'c' },
    ])
    expect(registry.resolve('a.b.c')).toMatchObject({ kind: 'ambiguous' })
  })

  it('are found by the unshortened spelling', () => {
    const tool = 'very_'.repeat(20)
    const { registry, names } = named([{ server: 's', tool }])
    expect(registry.resolve(`mcp__s__${tool}`)).toEqual({
      kind: 'found',
      name: names[0],
      ref: { server: 's', tool },
    })
  })
})
