// The administration of a gateway as a page: what an administrator sees and does, in a real browser, and who is kept out.
import { request as httpRequest } from 'node:http'
import { type Browser, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makePlace } from '../support/cli.ts'
import { freePort } from '../support/free-port.mjs'
import { legacySession, modern, SERVER, type ServedGateway, serveGateway, until } from '../support/gateway.ts'
import { violationsOf } from './axe.ts'
import { executablePath } from './page.ts'

const TOKEN = 'an-administrator-has-this'

describe.skipIf(!executablePath)('the page of the administration', () => {
  let gateway: ServedGateway
  let browser: Browser
  let page: Page
  let admin: string
  let user: string
  const errors: string[] = []
  beforeAll(async () => {
    const port = await freePort()
    admin = `http://127.0.0.1:${port}`
    gateway = await serveGateway({
      servers: { one: { command: process.execPath, args: [SERVER] } },
      gateway: () => ({
        auth: { tokens: 'tokens.json' },
        admin: { port },
        limits: { user: { perMinute: 120 } },
      }),
      args: ['--ui'],
      env: { PLUGBOARD_ADMIN_TOKEN: TOKEN },
    })
    user = (await gateway.place.run('serve', 'token', 'add', 'ada', '--gateway', 'gateway.json', '--json'))
      .json.token
    await until(async () => (await modern(gateway.url, user, 'tools/list')).status === 200)
    await legacySession(gateway.url, user)
    browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] })
    page = await (await browser.newContext()).newPage()
    page.setDefaultTimeout(30_000)
    page.on('pageerror', ({ message }) => errors.push(message))
  }, 120_000)
  afterAll(async () => {
    await browser?.close()
    await gateway?.remove()
  })

  const once = () => /Page: (\S+)/.exec(gateway.stderr())?.[1] ?? ''
  const view = async (name: string) => {
    await page.getByRole('link', { name }).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    await page.locator('main table, main .empty').first().waitFor()
  }

  it('signs in once with the address that the command prints', async () => {
    await page.goto(once())
    await page.getByRole('row', { name: /ada/ }).waitFor()
    expect(page.url()).not.toContain('token')
    const other = await (await browser.newContext()).newPage()
    await other.goto(once())
    await other.getByRole('heading', { name: 'Administration of the gateway' }).waitFor()
    await other.close()
  })

  it('shows users, sessions, tokens, servers, limits, replicas and the audit log', async () => {
    await view('Sessions')
    await page.getByRole('row', { name: /ada/ }).waitFor()
    await view('Tokens')
    await page.getByRole('row', { name: /ada/ }).waitFor()
    await view('Servers')
    await page.getByRole('row', { name: /one.*connected/ }).waitFor()
    await view('Limits')
    await page.getByRole('row', { name: /perMinute 120/ }).waitFor()
    await view('Replicas')
    await page.getByText('this gateway runs alone').waitFor()
    await page.getByRole('row', { name: /alone.*serves this page.*MB now/ }).waitFor()
    await view('Audit')
    await page.getByRole('button', { name: 'Verify the chain' }).click()
    await page.getByText(/lines, none changed/).waitFor()
  })

  it('withdraws access and gives it back', async () => {
    await view('Users')
    await page.getByRole('button', { name: 'Withdraw access' }).click()
    expect((await modern(gateway.url, user, 'tools/list')).status).toBe(200)
    await page.getByRole('button', { name: "End ada's access now" }).click()
    await page.getByRole('button', { name: 'Restore' }).waitFor()
    expect((await modern(gateway.url, user, 'tools/list')).status).not.toBe(200)
    await page.getByRole('button', { name: 'Restore' }).click()
    await expect.poll(async () => (await modern(gateway.url, user, 'tools/list')).status).toBe(200)
  })

  it('has no violation that axe-core finds, light and dark, and fits 360 pixels', async () => {
    const found: string[] = []
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const name of ['Users', 'Servers', 'Limits', 'Audit']) {
        await view(name)
        found.push(...(await violationsOf(page)).map((one) => `${name} ${colorScheme} ${one}`))
      }
    }
    await page.setViewportSize({ width: 360, height: 740 })
    for (const name of ['Users', 'Servers', 'Limits']) {
      await view(name)
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      if (over > 0) found.push(`${name} is ${over} pixels too wide`)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    expect(found).toEqual([])
  })

  it('is signed in to with the token too, and out', async () => {
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByLabel('Token of the administration').fill('something else entirely')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('This is not the token').waitFor()
    expect(await violationsOf(page)).toEqual([])
    await page.getByLabel('Token of the administration').fill(TOKEN)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await view('Users')
    await page.getByRole('row', { name: /ada/ }).waitFor()
    expect(errors).toEqual([])
  })

  /** A request as no browser would send it. */
  const status = (path: string, headers: Readonly<Record<string, string>>, method = 'GET', body = '') =>
    new Promise<number>((done, fail) => {
      const sent = httpRequest(`${admin}${path}`, { method, headers }, (response) => {
        response.resume()
        done(response.statusCode ?? 0)
      })
      sent.on('error', fail)
      sent.end(body)
    })

  it('keeps out other hosts, other origins, and a cookie without its proof', async () => {
    const host = new URL(admin).host
    const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
    const proof = await page.evaluate<string>('localStorage.getItem("plugboard.admin.proof")')
    const whole = { host, cookie, 'x-plugboard-proof': proof }
    const json = { 'content-type': 'application/json' }
    expect(cookie).toContain('plugboard_admin_')
    expect(await page.evaluate('document.cookie')).toBe('')
    expect(await status('/page/users', whole)).toBe(200)
    expect(await status('/page/users', { host, cookie })).toBe(401)
    expect(await status('/page/users', { host, 'x-plugboard-proof': proof })).toBe(401)
    expect(await status('/page/users', { ...whole, host: 'evil.example' })).toBe(421)
    expect(await status('/', { host: 'evil.example' })).toBe(421)
    expect(await status('/page/users', { ...whole, 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect(await status('/page/users/ada/revoke', whole, 'POST')).toBe(403)
    expect(await status('/page/users/ada/revoke', { ...whole, origin: 'http://evil.example' }, 'POST')).toBe(
      403,
    )
    const body = JSON.stringify({ token: TOKEN })
    expect(await status('/session', { host, ...json, origin: 'http://evil.example' }, 'POST', body)).toBe(403)
    expect(await status('/session', { host, origin: admin }, 'POST', body)).toBe(405)
    expect(await status('/session', { host, ...json, origin: admin }, 'POST', body)).toBe(200)
    // The interface for programs is as it was.
    expect(await status('/users', { host })).toBe(401)
    expect(await status('/users', { host, authorization: `Bearer ${TOKEN}` })).toBe(200)
    expect(await status('/users', { host, authorization: `Bearer ${TOKEN}`, origin: admin })).toBe(403)
  })

  it('sends its policy with everything, and no page may frame it', async () => {
    const response = await fetch(`${admin}/`)
    expect(response.headers.get('content-security-policy')).toMatch(
      /script-src 'self'.*frame-ancestors 'none'.*require-trusted-types-for 'script'/,
    )
    expect(response.headers.get('x-frame-options')).toBe('DENY')
  })
})

it('is refused without an administration, and on an address that others reach', {
  timeout: 60_000,
}, async () => {
  const place = makePlace()
  try {
    const port = await freePort()
    const serve = (...more: string[]) => place.run('serve', '--http', '--port', '0', '--ui', ...more)
    expect(await serve('--no-auth')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--gateway FILE'),
    })
    place.write('gateway.json', { admin: { port, host: '0.0.0.0' } })
    expect(await serve('--gateway', 'gateway.json')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('loopback'),
    })
  } finally {
    place.remove()
  }
})
