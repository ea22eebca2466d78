import { describe, expect, it } from 'vitest'
import type { User } from '../access/access.ts'
import { headerFault, headersFor } from './header-templates.ts'

const user = (claims: Record<string, unknown>) =>
  ({ key: 'k', name: 'Ada', roles: [], ...claims }) as unknown as User

describe('headers that name a user', () => {
  it('are filled in', () => {
    const headers = headersFor(
      's',
      { 'X-User': '${user.sub}', 'X-Mail': 'mailto:${user.email};n=${user.name}' },
      user({ subject: 'u-1', email: 'a@b.c' }),
    )
    expect(headers).toEqual({ 'X-User': 'u-1', 'X-Mail': 'mailto:a@b.c;n=Ada' })
  })

  it.each([
    ['a line break', 'a\r\nX-Admin: 1'],
    ['a line feed', 'a\nb'],
    ['a carriage return', 'a\rb'],
    ['a null', 'a\0b'],
    ['a tab', 'a\tb'],
    ['a letter outside ASCII', 'Zoë'],
    ['a hidden character', 'a\u200bb'],
    ['a space at the end', 'a '],
    ['nothing', ''],
    ['no value', undefined],
    ['null', null],
    ['a number', 7],
    ['a list', ['a']],
    ['an object', { toString: () => 'a' }],
    ['too much', 'a'.repeat(513)],
  ])('are refused for %s', (_, email) => {
    expect(() => headersFor('s', { 'X-User': '${user.email}' }, user({ email }))).toThrow(/user\.email/)
  })

  it('of the configuration are checked', () => {
    const faults = (name: string, template: string) => headerFault(name, template) !== undefined
    expect(faults('X-User', '${user.sub}')).toBe(false)
    for (const name of [
      'Authorization',
      'cookie',
      'Host',
      'Mcp-Session-Id',
      'Content-Length',
      'DPoP',
      'a b',
      '',
      'X:Y',
    ])
      expect([name, faults(name, 'x')]).toEqual([name, true])
    for (const template of ['${user.token}', '${HOME}', '${user.__proto__}', 'a\nb', ''])
      expect([template, faults('X-User', template)]).toEqual([template, true])
  })
})
