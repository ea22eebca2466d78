// The administration's page of a gateway with two replicas that share a real Redis: what is done on one holds on the other, and the users'
// own logins are listed and revoked.
import { randomBytes } from 'node:crypto'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser as Chromium, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '../../packages/core/src/auth/fixtures/authorization-server.ts'
import {
  type ResourceServer,
  startResourceServer,
} from '../../packages/core/src/auth/fixtures/resource-server.ts'
import { Browser } from '../support/browser.ts'
import { freePort } from '../support/free-port.mjs'
import { modern, SERVER, type ServedGateway, serveGateway, until } from '../support/gateway.ts'
import { type RedisServer, startRedis } from '../support/redis.ts'
import { violationsOf } from './axe.ts'
import { executablePath } from './page.ts'

const KEYS = { PLUGBOARD_KEYS: `k:${randomBytes(32).toString('base64')}` }
const LOGIN_KEY = `l:${randomBytes(32).toString('base64')}`

describe.skipIf(!executablePath)('the page of a gateway with two replicas', () => {
  let as: AuthorizationServer
  let rs: ResourceServer
  let redis: RedisServer
  let first: ServedGateway
  let second: ServedGateway
  let browser: Chromium
  let page: Page
  let token: string

  const replica = async () => {
    const admin = await freePort()
    return await serveGateway({
      servers: {
        one: { command: process.execPath, args: [SERVER] },
        notes: { type: 'http', url: rs.url },
      },
      env: { ...KEYS, LOGIN_KEY },
      args: ['--ui'],
      gateway: (port) => ({
        publicUrl: `http://127.0.0.1:${port}`,
        store: redis.url,
        admin: { port: admin },
        auth: { tokens: 'tokens.json' },
        userLogins: {
          servers: { notes: {} },
          key: { command: [process.execPath, '-e', 'console.log(process.env.LOGIN_KEY)'] },
        },
      }),
    })
  }
  const peers = async ({ port }: ServedGateway) =>
    ((await (await fetch(`http://127.0.0.1:${port}/ready`)).json()) as { peers: number }).peers

  beforeAll(async () => {
    as = await startAuthorizationServer()
    rs = await startResourceServer({ as })
    redis = await startRedis()
    first = await replica()
    second = await replica()
    token = (await first.place.run('serve', 'token', 'add', 'ada', '--gateway', 'gateway.json', '--json'))
      .json.token
    cpSync(join(first.place.project, 'tokens.json'), join(second.place.project, 'tokens.json'))
    const works = async ({ url }: ServedGateway) => (await modern(url, token, 'tools/list')).status === 200
    await until(async () => (await works(first)) && (await works(second)), 60_000)
    await until(async () => (await peers(first)) === 1 && (await peers(second)) === 1, 60_000)
    browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] })
    page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(30_000)
    await page.goto(/Page: (\S+)/.exec(first.stderr())?.[1] ?? '')
  }, 240_000)
  afterAll(async () => {
    await browser?.close()
    await first?.remove()
    await second?.remove()
    await redis?.stop()
    await rs?.close()
    await as?.close()
  })

  const view = async (name: string) => {
    await page.getByRole('link', { name }).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
  }
  const toolsOf = async ({ url }: ServedGateway) =>
    (await modern(url, token, 'tools/list')).message.result.tools.map(({ name }: { name: string }) => name)

  it('shows both replicas and the store', async () => {
    await view('Replicas')
    await page.getByText('The shared store answers').waitFor()
    // Each with version, time, sessions, running, calls, memory and its last beat: of the other one as it told.
    const facts = / 0\.\d+\.\d+ .*(s|min) \d+ \d+ \d+ [\d.]+ MB/.source
    await page.getByRole('row', { name: new RegExp(`serves this page${facts} now`) }).waitFor()
    await page.getByRole('row', { name: new RegExp(`alive${facts} .* ago`) }).waitFor()
    expect(await page.getByRole('row').count()).toBe(3)
    await page.setViewportSize({ width: 360, height: 740 })
    const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    await page.setViewportSize({ width: 1280, height: 800 })
    expect(over).toBeLessThanOrEqual(0)
    expect(await violationsOf(page)).toEqual([])
  })

  it('drains a server on both, and switches it on again', async () => {
    await view('Servers')
    const row = page.getByRole('row', { name: /^one/ })
    await row.getByRole('button', { name: 'Drain' }).click()
    expect(await toolsOf(second)).toContain('mcp__one__read')
    await row.getByRole('button', { name: 'Let its calls end, then off' }).click()
    await row.getByRole('button', { name: 'Switch on' }).waitFor()
    await expect.poll(() => toolsOf(second), { timeout: 30_000 }).not.toContain('mcp__one__read')
    expect(await toolsOf(first)).not.toContain('mcp__one__read')
    await row.getByRole('button', { name: 'Switch on' }).click()
    await row.getByRole('button', { name: 'Drain' }).waitFor()
    await expect.poll(() => toolsOf(second), { timeout: 30_000 }).toContain('mcp__one__read')
  }, 90_000)

  it("lists a user's own login and revokes it for both", async () => {
    const call = (at: ServedGateway, more: object = {}) =>
      modern(
        at.url,
        token,
        'tools/call',
        { name: 'mcp__notes__whoami', arguments: {}, ...more },
        { elicitation: { url: {} } },
      )
    const { result } = (await call(second)).message
    const [question] = Object.values<{ params: { url: string } }>(result.inputRequests)
    await new Browser('ada').logIn(question?.params.url ?? '')
    await view('Logins')
    const row = page.getByRole('row', { name: /ada notes/ })
    await row.waitFor()
    expect(await violationsOf(page)).toEqual([])
    await row.getByRole('button', { name: 'Revoke' }).click()
    await row.getByRole('button', { name: "End ada's login now" }).click()
    await page.getByText('No user has a login at a server').waitFor()
    expect((await call(second)).message.result).toHaveProperty('inputRequests')
  }, 90_000)
})
