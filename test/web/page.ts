// page.ts: the page of the board as a user opens it: the built command in a home of its own, a real browser.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { findBrowser } from '../../scripts/ensure-browser.mjs'
import { makePlace, type Place } from '../support/cli.ts'

export const executablePath = findBrowser()

export interface OpenedPage {
  readonly place: Place
  readonly browser: Browser
  readonly context: BrowserContext
  readonly page: Page
  /** What the page's own scripts failed with. */
  readonly errors: string[]
  /** Where the page is, without the part behind the #. */
  readonly origin: string
  /** Goes to a view. */
  go(address: string): Promise<void>
  /** A fresh address of `plugboard ui`. */
  address(): Promise<string>
  /** The process that serves the page. */
  residentPid(): Promise<number>
  close(): Promise<void>
}

const WAIT_MS = 30_000

/** With these servers in the user's settings. */
export async function openPage(
  servers: Readonly<Record<string, unknown>>,
  project: unknown = {},
  settings: Readonly<Record<string, unknown>> = {},
): Promise<OpenedPage> {
  const place = makePlace()
  place.write('~/.plugboard/settings.json', {
    builtins: { codebase: false },
    mcpServers: servers,
    ...settings,
  })
  place.write('.mcp.json', project)
  const address = async () => (await place.run('ui', '--no-open', '--json')).json.url as string
  const browser = await chromium.launch({ executablePath: executablePath ?? '', args: ['--no-sandbox'] })
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } })
  await context.grantPermissions(['clipboard-read', 'clipboard-write'])
  const page = await context.newPage()
  page.setDefaultTimeout(WAIT_MS)
  const errors: string[] = []
  page.on('pageerror', ({ message }) => errors.push(message))
  const url = await address()
  await page.goto(url)
  await page.getByRole('heading', { name: 'Servers' }).waitFor()
  return {
    place,
    browser,
    context,
    page,
    errors,
    origin: new URL(url).origin,
    address,
    go: async (to) => void (await page.evaluate(`location.hash = ${JSON.stringify(to)}`)),
    residentPid: async () => (await place.run('status', '--json')).json.pid as number,
    close: async () => {
      await browser.close()
      place.remove()
    },
  }
}

/** Waits until a server of the list has this state. */
export async function untilState(page: Page, server: string, state: string): Promise<void> {
  await page.getByRole('row', { name: new RegExp(`${server}.*${state}`, 's') }).waitFor()
}

/** Presses the button that calls the tool shown, and waits for the outcome of the newest call. */
export async function callShown(page: Page, outcome = 'done'): Promise<void> {
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  await page.locator('.calls > li').first().locator('.call-state', { hasText: outcome }).waitFor()
}

export function settingsOf(place: Place): string {
  return readFileSync(join(place.home, '.plugboard/settings.json'), 'utf8')
}
