import { expect, it } from 'vitest'
import { canonicalJson, isObject, own, put } from './json.ts'

it('takes for an object only what JSON calls one', () => {
  expect([{}, Object.create(null)].every(isObject)).toBe(true)
  expect([null, undefined, [], 'text', 1, true].some(isObject)).toBe(false)
})

it('reads and sets members of the object itself, whatever they are called', () => {
  const object: Record<string, unknown> = {}
  put(object, '__proto__', { polluted: true })
  put(object, 'plain', 1)
  expect(Object.keys(object)).toEqual(['__proto__', 'plain'])
  expect(own(object, '__proto__')).toEqual({ polluted: true })
  expect(own(object, 'polluted')).toBeUndefined()
  expect(own({}, 'constructor')).toBeUndefined()
})

it('writes one text for one value', () => {
  expect(canonicalJson({ b: [1, { d: null, c: 'x' }], a: undefined })).toBe(
    canonicalJson({ a: undefined, b: [1, { c: 'x', d: null }] }),
  )
  expect(canonicalJson({ a: 1 })).not.toBe(canonicalJson({ a: '1' }))
})
