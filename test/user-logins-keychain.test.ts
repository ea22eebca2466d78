// The key that seals users' logins, from a real keychain (a session bus and a GNOME keyring): the built command, a real authorization
// server, and browsers that keep cookies.
import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '../packages/core/src/auth/fixtures/authorization-server.ts'
import {
  type ResourceServer,
  startResourceServer,
} from '../packages/core/src/auth/fixtures/resource-server.ts'
import { Browser } from './support/browser.ts'
import { modern, type ServedGateway, serveGateway, until } from './support/gateway.ts'
import { hasKeyring, type Keyring, startKeyring } from './support/keyring.ts'

const run = promisify(execFile)
const WHOAMI = { name: 'mcp__notes__whoami', arguments: {} }

describe.runIf(hasKeyring)('the key from the keychain', () => {
  let keyring: Keyring
  let as: AuthorizationServer
  let rs: ResourceServer
  const gateways: ServedGateway[] = []

  beforeAll(async () => {
    keyring = await startKeyring()
    as = await startAuthorizationServer({})
    rs = await startResourceServer({ as })
  }, 120_000)
  afterAll(async () => {
    for (const one of gateways) await one.remove()
    await rs?.close()
    await as?.close()
    await keyring?.stop()
  })

  const served = async (name: string, from?: ServedGateway) => {
    const made = await serveGateway({
      servers: { notes: { type: 'http', url: rs.url } },
      env: keyring.env,
      gateway: (port) => ({
        publicUrl: `http://127.0.0.1:${port}`,
        auth: { tokens: 'tokens.json' },
        userLogins: { servers: { notes: {} }, key: { keychain: name } },
      }),
    })
    gateways.push(made)
    if (from) await adopt(made, from)
    return made
  }
  /** The state and tokens of another gateway, as after a move to another folder. */
  const adopt = async (to: ServedGateway, from: ServedGateway) => {
    await to.stop()
    cpSync(join(from.place.project, 'tokens.json'), join(to.place.project, 'tokens.json'))
    cpSync(stateOf(from), stateOf(to), { recursive: true })
    await to.start()
  }
  const stateOf = ({ place }: ServedGateway) => join(place.home, '.plugboard', 'state')
  const answer = async ({ url }: ServedGateway, token: string): Promise<string> => {
    const { message } = await modern(url, token, 'tools/call', WHOAMI, {})
    return message.result.content[0].text
  }

  it('seals logins that survive a restart and a move, is in no file, and opens nothing under another name', async () => {
    const first = await served('gateway')
    const ran = await first.place.run('serve', 'token', 'add', 'ada', '--gateway', 'gateway.json', '--json')
    const token: string = ran.json.token
    await until(async () => (await modern(first.url, token, 'tools/list')).status === 200)
    const link = /http:\S+ticket=[\w.-]+/.exec(await answer(first, token))?.[0] ?? ''
    expect((await new Browser('ada').logIn(link)).text).toContain('ada is logged in')
    expect(await answer(first, token)).toBe('ada')
    await first.stop()
    await first.start()
    expect(await answer(first, token)).toBe('ada')
    expect(existsSync(join(stateOf(first), 'user-logins.key'))).toBe(false)
    const files = readdirSync(stateOf(first), { recursive: true, withFileTypes: true })
    const bearer = rs.requests.map(({ headers }) => headers.authorization).find((one) => one !== undefined)
    // A lock may be gone by now.
    for (const file of files.filter((one) => one.isFile() && !one.name.endsWith('.lock')))
      expect(readFileSync(join(file.parentPath, file.name), 'latin1')).not.toContain(bearer?.split(' ')[1])
    expect(await answer(await served('gateway', first), token)).toBe('ada')
    expect(await answer(await served('another', first), token)).toContain('/logins?ticket=')
  }, 180_000)

  it('is one for gateways of one user that start at the same moment for the first time', async () => {
    const state = mkdtempSync(join(tmpdir(), 'plugboard-keychain-'))
    const program = `
      import { systemHost } from '@plugboard/core'
      import { loginKeys } from '@plugboard/gateway/parts'
      const [stateDir] = process.argv.slice(1)
      const [{ kid }] = await loginKeys({ keychain: 'fresh' }, { host: systemHost(), stateDir, folder: stateDir })
      console.log(kid)`
    const kid = () =>
      run(process.execPath, ['--input-type=module', '-e', program, state], {
        cwd: fileURLToPath(new URL('..', import.meta.url)),
        env: { PATH: process.env['PATH'] ?? '', HOME: state, ...keyring.env },
        timeout: 60_000,
      })
    const kids = (await Promise.all([kid(), kid(), kid(), kid()])).map(({ stdout }) => stdout)
    rmSync(state, { recursive: true, force: true })
    expect([new Set(kids).size, kids[0]]).toEqual([1, expect.stringMatching(/^[0-9a-f]{8}\n$/)])
  }, 90_000)

  it('is needed: without a keychain the command says what to do', async () => {
    const [one] = gateways
    const place = one?.place
    place?.write('gateway.json', {
      publicUrl: 'http://127.0.0.1:9',
      userLogins: { servers: { notes: {} }, key: { keychain: 'gateway' } },
    })
    const bus = { DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nowhere/bus' }
    const words = ['serve', '--http', '--port', '0', '--gateway', 'gateway.json']
    const ran = await place?.runWith(bus, ...words)
    expect(ran?.code).toBe(2)
    expect(ran?.stderr).toContain('"userLogins.key.keychain": the keychain of this machine cannot be used.')
    expect(ran?.stderr).toContain('"file" or "command"')
  }, 60_000)
})
