import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CONFIG_LIMITS } from '../limits.ts'
import { nameFault, newNameFault, RESERVED_NAMES } from './names.ts'

describe('a server name', () => {
  it.each(['a', 'GitHub', 'my-server_2', '-', '0', 'a__b', 'constructor', 'toString'])(
    'may be %s',
    (name) => {
      expect(nameFault(name)).toBeUndefined()
    },
  )

  it.each([
    ['', 'empty'],
    ['codebase', 'reserved'],
    ['plugboard', 'reserved'],
    ['__proto__', 'cannot be'],
    ['a/b', '"/"'],
    ['a\\b', '"\\"'],
    ['a.b', '"."'],
    ['../x', '"."'],
    ['a b', 'U+0020'],
    ['gith\u0443b', 'U+0443'],
    ['a\u200bb', 'U+200B'],
    ['a\u202eb', 'U+202E'],
    ['a\nb', 'U+000A'],
    ['ｇｉｔ', 'U+FF47'],
    ['x\u{1F600}', 'U+1F600'],
    ['a\u0000', 'U+0000'],
  ])('may not be %j, and the fault says why (%s)', (name, word) => {
    const fault = nameFault(name)
    expect(fault?.message).toContain(word)
    expect(fault?.hint).toMatch(/\S/)
  })

  it('has a length limit', () => {
    expect(nameFault('x'.repeat(CONFIG_LIMITS.nameLength))).toBeUndefined()
    expect(nameFault('x'.repeat(CONFIG_LIMITS.nameLength + 1))?.message).toContain('characters long')
  })

  it('is accepted exactly when it is of letters, digits, - and _, and free', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 20, unit: 'binary' }), (name) => {
        const fine = /^[A-Za-z0-9_-]+$/.test(name) && !RESERVED_NAMES.has(name) && name !== '__proto__'
        expect(nameFault(name) === undefined).toBe(fine)
      }),
    )
  })

  it('is never shown raw when it could not be told apart by eye', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, maxLength: 8, unit: 'binary' }), (name) => {
        expect(nameFault(name)?.hint ?? '').toMatch(/^[\x20-\x7e]*$/)
      }),
    )
  })

  it.each([
    ['a_b', undefined],
    ['a__b', 'for example "a_b"'],
    ['a____b', 'for example "a_b"'],
    ['codebase', 'my-codebase'],
    ['', 'letters'],
  ])('that is new may not have "__": %j', (name, hint) => {
    const fault = newNameFault(name)
    if (hint === undefined) expect(fault).toBeUndefined()
    else expect(fault?.hint).toContain(hint)
  })

  it.each([
    ['a/b', 'has a character that names may not have ("/")', 'a-b'],
    ['/a/', 'has a character that names may not have ("/")', 'a'],
    ['a/b.c', 'has characters that names may not have ("/", ".")', 'a-b-c'],
    ['a/b.c d:e', 'has characters that names may not have ("/", ".", U+0020)', 'a-b-c-d-e'],
    ['!!!', 'has a character that names may not have ("!")', 'my-server'],
  ])('%j: %s, and %s is suggested', (name, message, suggested) => {
    const fault = nameFault(name)
    expect(fault?.message.endsWith(message)).toBe(true)
    expect(fault?.hint.endsWith(`for example "${suggested}".`)).toBe(true)
  })
})
