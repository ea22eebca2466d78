// One whole login as a user does it: a real browser, two pages, two clicks.
import { type Browser, chromium } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  type AuthorizationServer,
  startAuthorizationServer,
} from '../packages/core/src/auth/fixtures/authorization-server.ts'
import {
  type ResourceServer,
  startResourceServer,
} from '../packages/core/src/auth/fixtures/resource-server.ts'
import { type AuthSetup, authSetup, cleanUp, ping, remote } from '../packages/core/src/auth/fixtures/setup.ts'
import { authFor, login } from '../packages/core/src/auth/index.ts'
import { findBrowser } from '../scripts/ensure-browser.mjs'

const executablePath = findBrowser()
let as: AuthorizationServer
let rs: ResourceServer
let fixture: AuthSetup
let browser: Browser | undefined

beforeAll(async () => {
  as = await startAuthorizationServer({ consentPage: true })
  rs = await startResourceServer({ as })
  fixture = authSetup()
  if (executablePath) browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
})
afterAll(async () => {
  await browser?.close()
  await rs.close()
  await as.close()
  cleanUp(fixture)
})

it.skipIf(!executablePath)(
  'logs in with two clicks, and the page says to go back',
  { timeout: 60_000 },
  async () => {
    if (!browser) throw new Error('the browser did not start')
    const page = await browser.newPage()
    const server = remote('guarded', rs.url)
    let walked: Promise<void> = Promise.resolve()
    const walk = async (url: string) => {
      await page.goto(url)
      await page.waitForFunction('document.title === "login"')
      await page.click('#go')
      await page.waitForFunction('document.title === "consent"')
      await page.click('#go')
      await page.waitForURL(/^http:\/\/localhost:\d+\/callback/)
      expect(await page.textContent('body')).toContain('go back to where you started')
      // The address bar keeps the code; it is used up by now, and the page sends it nowhere.
      expect(await page.evaluate('document.referrer')).not.toContain('code=')
    }
    const result = await login(server, fixture.context, {
      openBrowser: false,
      onUrl: (url) => {
        walked = walk(url)
      },
    })
    await walked
    expect(result).toMatchObject({ askedUser: true, renewable: true })
    expect((await ping(authFor(server, fixture.context), rs.url)).status).toBe(200)
  },
)
