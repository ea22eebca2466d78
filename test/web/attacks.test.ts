// Attacks on the page in a real browser: hostile texts, a hostile app, another origin, another host name, a frame around it, a
// stolen cookie, a token used twice.
import { createServer, request as httpRequest, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { callShown, executablePath, type OpenedPage, openPage, untilState } from './page.ts'

const HOSTILE = {
  command: process.execPath,
  args: [fileURLToPath(new URL('./hostile-server.mjs', import.meta.url))],
}

describe.skipIf(!executablePath)('the page under attack', () => {
  let opened: OpenedPage
  let elsewhere: Server
  beforeAll(async () => {
    opened = await openPage({ hostile: HOSTILE })
    await untilState(opened.page, 'hostile', 'connected')
    elsewhere = createServer((_, response) =>
      response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>elsewhere</title>'),
    )
    await new Promise<void>((done) => elsewhere.listen(0, '127.0.0.1', done))
  }, 90_000)
  afterAll(async () => {
    elsewhere?.close()
    await opened?.close()
  })

  const attacked = () => opened.page.evaluate('window.attacked')
  const other = () => `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`

  it('shows hostile texts as text, in every view', async () => {
    const { page, go, context } = opened
    const requested: string[] = []
    context.on('request', (request) => requested.push(request.url()))
    await go('#/servers/hostile')
    await page.getByText('Instructions for the model').click()
    await go('#/servers/hostile/logs')
    await page.getByText('onerror').first().waitFor()
    await go('#/tools/mcp__hostile__texts')
    await callShown(page)
    await page.locator('.media img').waitFor()
    await page.getByText('This image cannot be shown (text/html)').waitFor()
    for (const text of await page.getByRole('button', { name: 'Markdown' }).all()) await text.click()
    await page.getByRole('tab', { name: 'Schema' }).click()
    await page.getByRole('tab', { name: 'Definition' }).click()
    await go('#/resources')
    await page.getByText('ui://hostile/app.html').first().waitFor()
    await go('#/timeline')
    await page.locator('.rows-scroller .row').first().waitFor()
    await page.keyboard.press('Control+k')
    await page.getByPlaceholder(/Go to a view/).fill('texts')
    await page.getByRole('option', { name: /hostile.texts/ }).waitFor()
    await page.keyboard.press('Escape')
    expect(await attacked()).toBeUndefined()
    expect(
      await page.locator('script[src^="http"], iframe, a[href^="javascript"], a[href^="data"]').count(),
    ).toBe(0)
    expect(requested.filter((url) => !url.startsWith(opened.origin) && !url.startsWith('data:'))).toEqual([])
  })

  it('keeps an app in its frame', async () => {
    const { page, go } = opened
    await go('#/tools/mcp__hostile__app')
    await callShown(page)
    // The addresses that the app names are not in force, and what was no address is not even offered.
    const banner = page.locator('.app .banner')
    expect(await banner.textContent()).toContain('https://fine.example')
    expect(await banner.textContent()).not.toContain('script-src')
    const app = page.frameLocator('iframe.app-frame')
    await app.getByText('foreign tool').waitFor()
    const tried = await app.locator('#tried li').allTextContents()
    for (const what of [
      'parent document',
      'cookie',
      'storage',
      'board page',
      'other machine',
      'top',
      'popup',
    ])
      expect(tried.find((one) => one.startsWith(`${what}:`))).toMatch(/: refused /)
    expect(page.url()).toContain(opened.origin)
    expect(await attacked()).toBeUndefined()
    const frame = page.frames().find((one) => one.url().startsWith('http://localhost:'))
    expect(await frame?.evaluate('origin')).toBe('null')
    await go('#/servers')
  })

  it('refuses another origin: requests, sockets, frames, scripts', async () => {
    const { context, origin } = opened
    const page = await context.newPage()
    await page.goto(other())
    const outcome = await page.evaluate(`(async () => {
      const origin = ${JSON.stringify(origin)}
      const got = {}
      got.post = await fetch(origin + '/session', { method: 'POST', credentials: 'include', headers: { 'Content-Type': 'text/plain' }, body: '{}', mode: 'no-cors' }).then((r) => r.type, () => 'refused')
      got.read = await fetch(origin + '/', { credentials: 'include' }).then((r) => r.status, () => 'refused')
      got.socket = await new Promise((done) => { const ws = new WebSocket(origin.replace('http', 'ws') + '/board', ['plugboard', 'x']); ws.onopen = () => done('open'); ws.onerror = () => done('refused') })
      got.frame = await new Promise((done) => { const frame = document.createElement('iframe'); frame.src = origin + '/'; frame.onload = () => { try { done(frame.contentDocument === null ? 'refused' : 'same') } catch { done('refused') } }; document.body.append(frame) })
      got.framed = document.querySelector('iframe').contentWindow.length
      got.script = await new Promise((done) => { const script = document.createElement('script'); script.src = origin + '/icon.svg'; script.onload = () => done('loaded'); script.onerror = () => done('refused'); document.body.append(script) })
      return got
    })()`)
    expect(outcome).toEqual({
      post: 'refused',
      read: 'refused',
      socket: 'refused',
      frame: 'refused',
      framed: 0,
      script: 'refused',
    })
    // The framed page never became the board.
    const framed = page.frames().find((one) => one !== page.mainFrame())
    expect(await framed?.evaluate('document.getElementById("page") === null').catch(() => true)).toBe(true)
    await page.close()
  })

  it.each([
    ['another host name', { host: 'evil.example' }, '/', 421],
    ['the name without its port', { host: 'localhost' }, '/', 421],
    ['a path out of the folder', {}, '/../../package.json', 404],
    ['an encoded path out of the folder', {}, '/..%2f..%2fpackage.json', 404],
    ['a session without an origin', { method: 'POST' }, '/session', 403],
    ['a session of another origin', { method: 'POST', origin: 'http://evil.example' }, '/session', 403],
    ['a session with no token', { method: 'POST', origin: 'own' }, '/session', 401],
  ] as const)(
    'refuses %s',
    async (_, {
      host,
      method,
      origin,
    }: { host?: string; method?: string; origin?: string }, path, status) => {
      const url = new URL(opened.origin)
      const answered = await new Promise<number>((done, fail) => {
        const sent = httpRequest(
          {
            host: url.hostname,
            port: url.port,
            path,
            method: method ?? 'GET',
            headers: {
              Host: host ?? url.host,
              'Content-Type': 'application/json',
              ...(origin && { Origin: origin === 'own' ? opened.origin : origin }),
            },
          },
          (response) => {
            response.resume()
            done(response.statusCode ?? 0)
          },
        )
        sent.on('error', fail)
        sent.end(method === 'POST' ? '{"token":"guess"}' : undefined)
      })
      expect(answered).toBe(status)
    },
  )

  it('takes an address once, and a cookie alone opens nothing', async () => {
    const { browser, address, context, origin } = opened
    const url = await address()
    const first = await (await browser.newContext()).newPage()
    await first.goto(url)
    await first.getByRole('heading', { name: 'Servers' }).waitFor()
    expect(first.url()).not.toContain('token')
    const again = await (await browser.newContext()).newPage()
    await again.goto(url)
    await again.getByText('This page has no session').waitFor()
    // With the cookie of a good session and without its proof.
    const thief = await browser.newContext()
    const cookies = await context.cookies(origin)
    expect(cookies).toMatchObject([{ httpOnly: true, sameSite: 'Strict' }])
    await thief.addCookies(cookies)
    const stolen = await thief.newPage()
    await stolen.goto(`${origin}/`)
    await stolen.evaluate("localStorage.setItem('plugboard.proof', 'guess')")
    await stolen.reload()
    await stolen.getByText('This page has no session').waitFor()
  })

  it('sends a strict policy with every answer', async () => {
    const response = await opened.page.request.get(`${opened.origin}/`)
    const policy = response.headers()['content-security-policy'] ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toMatch(/unsafe|\*/)
    expect(
      await opened.page.evaluate("try { document.body.innerHTML = '<b>x</b>'; 'taken' } catch { 'refused' }"),
    ).toBe('refused')
  })

  it('ends its sessions with the process', async () => {
    await opened.place.run('down')
    await opened.page.getByText('The resident board does not answer').waitFor()
    await opened.place.run('up')
    await opened.page.getByRole('button', { name: 'Try now' }).click()
    await opened.page.getByText('The resident board does not answer').waitFor()
  })
})
