// The administrator's policy against entries that look like what it admits, or unlike what it bans.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

function policy(settings: object): void {
  const folder = join(place.home, '..', 'managed')
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'managed-settings.json'), JSON.stringify(settings))
}

/** The names of the servers that the policy lets start. */
async function admitted(mcpServers: Readonly<Record<string, unknown>>): Promise<readonly string[]> {
  place.write('~/.plugboard/settings.json', { mcpServers })
  const { json } = await place.runWith({ ALLOWED: 'https://ok.test/mcp' }, 'list', '--json', '--no-connect')
  const rows: readonly { name: string; state: string; type: string }[] = json.servers
  return rows.filter(({ state, name }) => state === 'pending' && name !== 'codebase').map(({ name }) => name)
}

const ofUrls = (urls: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url }]))

describe('an allow list', () => {
  it('of URLs admits the place in every spelling, and no other place', async () => {
    policy({
      allowedMcpServers: [{ serverUrl: 'https://ok.test/mcp' }, { serverUrl: 'https://*.corp.test/*' }],
    })
    const same = {
      plain: 'https://ok.test/mcp',
      letters: 'HTTPS://OK.TEST/mcp',
      port: 'https://ok.test:443/mcp',
      dots: 'https://ok.test/x/../mcp',
      wide: 'https://\uff4fk.test/mcp',
      variable: '${ALLOWED}',
    }
    const other = {
      user: 'https://ok.test@evil.test/mcp',
      backslash: 'https://evil.test\\@ok.test/mcp',
      otherPort: 'https://ok.test:8443/mcp',
      plainHttp: 'http://ok.test/mcp',
      suffix: 'https://ok.test.evil.test/mcp',
      path: 'https://evil.test/.corp.test/x',
      hash: 'https://evil.test#.corp.test/x',
      query: 'https://evil.test?.corp.test/x',
      below: 'https://ok.test/mcp/../admin',
    }
    const names = await admitted({
      ...ofUrls({ ...same, ...other }),
      helper: { url: 'https://ok.test/mcp', headersHelper: 'id' },
      socket: { type: 'ws', url: 'wss://ok.test/mcp' },
    })
    expect([...names].sort()).toEqual(Object.keys(same).sort())
  })

  it('of commands admits exactly the command, without what makes other code of it', async () => {
    policy({ allowedMcpServers: [{ serverCommand: ['npx', '-y', 'good'] }] })
    const good = { command: 'npx', args: ['-y', 'good'] }
    const names = await admitted({
      good,
      token: { ...good, env: { X_TOKEN: 'a' } },
      path: { ...good, env: { PATH: '/x' } },
      registry: { ...good, env: { npm_config_registry: 'http://x' } },
      folder: { ...good, cwd: '/tmp' },
      everything: { ...good, inheritEnv: true },
      order: { command: 'npx', args: ['good', '-y'] },
      elsewhere: { command: '/tmp/npx', args: ['-y', 'good'] },
      built: { type: 'sdk' },
    })
    expect(names).toEqual(['good', 'token'])
  })
})

describe('a ban', () => {
  it('covers other spellings of the place, the program and the name', async () => {
    policy({
      deniedMcpServers: [
        { serverUrl: 'https://bad.test/*' },
        { serverCommand: ['npx', 'bad'] },
        { serverName: 'banned' },
      ],
    })
    const names = await admitted({
      ...ofUrls({
        user: 'https://x@BAD.test./a',
        wide: 'https://b\uff41d.test/x',
        port: 'https://bad.test:443/',
        fine: 'https://good.test/bad.test/',
      }),
      socket: { type: 'ws', url: 'wss://bad.test/a' },
      full: { command: '/usr/bin/npx', args: ['bad'] },
      extra: { command: 'npx', args: ['bad'], cwd: '/tmp', env: { A: '1' } },
      Banned: { command: '/bin/true' },
      other: { command: 'npx', args: ['good'] },
    })
    expect(names).toEqual(['fine', 'other'])
  })
})
