// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a variable of an entry is a subject here.
// Which servers have a login, whose credentials they may use, and which addresses their logins may reach.
import { describe, expect, it } from 'vitest'
import type { ConfiguredServer } from '../config/types.ts'
import {
  type AuthContext,
  exchangeFor,
  httpUrl,
  remoteServer,
  serverKey,
  usesSingleSignOn,
} from './context.ts'
import { remote } from './fixtures/setup.ts'

const HOME = 'https://h.example/mcp'

describe('a server with a login', () => {
  it.each<[ConfiguredServer, string | undefined]>([
    [remote('a', HOME), undefined],
    [remote('a', '${URL}'), 'The url of "a" is not a URL with its variables filled in.'],
    [
      { ...remote('a', HOME), entry: { type: 'stdio', command: 'x', args: [], env: {} } },
      '"a" is a stdio server, which has no login.',
    ],
  ])('%#', (server, problem) => {
    if (problem === undefined) expect(remoteServer(server)).toBe(server)
    else expect(() => remoteServer(server)).toThrow(problem)
  })

  it('is another one at another address, whatever follows the #', () => {
    expect(serverKey(remote('a', `${HOME}#x`))).toBe(serverKey(remote('a', HOME)))
    expect(serverKey(remote('a', HOME))).not.toBe(serverKey(remote('a', `${HOME}2`)))
    expect(serverKey(remote('a', HOME))).not.toBe(serverKey(remote('b', HOME)))
    expect(httpUrl(remote('a', 'wss://h.example/ws'))).toBe('https://h.example/ws')
  })
})

describe('the user’s credentials', () => {
  const exchange = { issuer: 'https://i.example' } as never
  const context = { settings: { exchanges: { a: exchange } } } as unknown as AuthContext
  it.each<['user' | 'repository', string, boolean]>([
    ['user', 'a', true],
    ['user', 'b', false],
    ['user', 'toString', false],
    ['repository', 'a', false],
  ])('of a server that is the %s’s, named %s: %s', (author, name, may) => {
    expect(exchangeFor({ ...remote(name, HOME), author }, context)).toBe(may ? exchange : undefined)
  })

  it('are not found where there are none', () => {
    expect(exchangeFor(remote('a', HOME), {} as AuthContext)).toBeUndefined()
  })

  it.each<[object, 'user' | 'repository', boolean]>([
    [{ xaa: true }, 'user', true],
    [{ xaa: true }, 'repository', false],
    [{ xaa: false }, 'user', false],
    [{}, 'user', false],
  ])('are asked for by single sign-on: %j of the %s’s: %s', (oauth, author, uses) => {
    expect(usesSingleSignOn({ ...remote('a', HOME, { oauth }), author })).toBe(uses)
  })
})
