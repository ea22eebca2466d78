// What the page costs and whether everybody can use it: size, first paint of a large board, ten thousand rows, axe-core in every
// view, keyboard, narrow screens.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { violationsOf } from './axe.ts'
import { executablePath, type OpenedPage, openPage } from './page.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const MANY = fileURLToPath(new URL('./many-tools.mjs', import.meta.url))
const SERVERS = 50
const TOOLS = 40

it('has less than 300 kB of JavaScript, compressed', () => {
  const folder = join(root, 'packages/cli/dist/web/assets')
  const sizes = readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .map((name) => gzipSync(readFileSync(join(folder, name)), { level: 9 }).length)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(300_000)
})

describe.skipIf(!executablePath)('a board of fifty servers', () => {
  let opened: OpenedPage
  beforeAll(async () => {
    const names = Array.from({ length: SERVERS }, (_, at) => `server-${at}`)
    opened = await openPage(
      Object.fromEntries(
        names.map((name) => [name, { command: process.execPath, args: [MANY, name, String(TOOLS)] }]),
      ),
    )
    await opened.page
      .getByText(`${SERVERS} of ${SERVERS} connected · ${SERVERS * TOOLS} tools`)
      .waitFor({ timeout: 100_000 })
  }, 150_000)
  afterAll(async () => {
    await opened?.close()
  })

  it('paints first within a second', async () => {
    const { page } = opened
    const painted: number[] = []
    // The best of three: another process may take the machine for a moment.
    for (let run = 0; run < 3; run++) {
      await page.goto(`${opened.origin}/#/servers`)
      await page.reload()
      await page.getByRole('row', { name: /server-49/ }).waitFor()
      painted.push(await page.evaluate<number>('performance.now()'))
    }
    expect(Math.min(...painted)).toBeLessThan(1000)
  })

  it('finds one of two thousand tools, and draws few of them', async () => {
    const { page, go } = opened
    await go('#/tools')
    await page.getByPlaceholder('What do you want to do?').fill('server-31 tool 7')
    await page
      .getByRole('link', { name: /tool-7/ })
      .first()
      .waitFor()
    await page.getByPlaceholder('What do you want to do?').fill('')
    await page.getByText('2000').first().waitFor()
    expect(await page.locator('.list-item').count()).toBeLessThan(60)
  })

  it('scrolls ten thousand rows of the timeline', async () => {
    const { page, go } = opened
    await go('#/tools/mcp__server-0__flood')
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.locator('.call-state', { hasText: 'done' }).waitFor()
    await go('#/timeline')
    await page.getByLabel('Follow').uncheck()
    const rows = page.locator('.rows-scroller')
    await rows.locator('.row').first().waitFor()
    const height = await page.evaluate<number>('document.querySelector(".rows-scroller").scrollHeight')
    expect(height).toBeGreaterThan(9000 * 30)
    // Every frame of a fast scroll has its rows.
    const missing = await page.evaluate<number>(`(async () => {
      const scroller = document.querySelector('.rows-scroller')
      let missing = 0
      for (let at = 0; at < 60; at++) {
        scroller.scrollTop = at * 4000
        await new Promise(requestAnimationFrame)
        await new Promise(requestAnimationFrame)
        const box = scroller.getBoundingClientRect()
        const middle = document.elementFromPoint(box.left + 60, box.top + box.height / 2)
        if (!middle?.closest('.row')) missing++
      }
      return missing
    })()`)
    expect(missing).toBe(0)
    expect(await rows.locator('.row').count()).toBeLessThan(100)
  })

  /** The colours are the same in all views; these have every kind of part. */
  const DARK_VIEWS = ['#/servers/server-1', '#/tools/mcp__server-1__tool-1', '#/timeline', '#/health']
  const violations = () => violationsOf(opened.page)

  it.each(['light', 'dark'] as const)('has no violation that axe-core finds, %s', async (colorScheme) => {
    const { page, go } = opened
    await page.emulateMedia({ colorScheme })
    const views =
      colorScheme === 'dark'
        ? DARK_VIEWS
        : [
            '#/servers',
            '#/servers/server-1',
            '#/servers/server-1/logs',
            '#/servers/server-1/explain',
            '#/servers/server-1/doctor',
            '#/tools',
            '#/tools/mcp__server-1__tool-1',
            '#/resources',
            '#/prompts',
            '#/skills',
            '#/timeline',
            '#/decide',
            '#/health',
            '#/audit',
          ]
    const found: string[] = []
    for (const view of views) {
      await go(view)
      await page.locator('main h1, main h2').first().waitFor()
      await page
        .getByText(/^(Loading|Reading|Asking|Checking)/)
        .first()
        .waitFor({ state: 'hidden' })
      found.push(...(await violations()).map((one) => `${view} ${one}`))
    }
    await go('#/servers')
    for (const button of ['Add server', 'Import…']) {
      await page.getByRole('button', { name: button }).click()
      await page.getByRole('dialog').waitFor()
      found.push(...(await violations()).map((one) => `${button} ${one}`))
      await page.keyboard.press('Escape')
    }
    await page.keyboard.press('Control+k')
    await page.getByRole('dialog').waitFor()
    found.push(...(await violations()).map((one) => `palette ${one}`))
    await page.keyboard.press('Escape')
    expect(found).toEqual([])
  })

  it('is used by keyboard alone', async () => {
    const { page, go } = opened
    await go('#/servers')
    await page.keyboard.press('Control+k')
    await page.keyboard.type('server-3 tool-5')
    await page.getByRole('option', { name: /server-3\.tool-5/ }).waitFor()
    await page.keyboard.press('Enter')
    const field = page.getByLabel('text required')
    await field.waitFor()
    await field.focus()
    await page.keyboard.type('typed')
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    for (let at = 0; at < 10 && (await page.evaluate('document.activeElement.textContent')) !== 'Call'; at++)
      await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await page.getByText('typed from server-3').first().waitFor()
  })

  it.each(['#/servers', '#/tools/mcp__server-1__tool-1', '#/timeline', '#/health'])(
    'fits 360 pixels: %s',
    async (view) => {
      const { page, go } = opened
      await page.setViewportSize({ width: 360, height: 740 })
      await go(view)
      await page.locator('main h1:visible, main h2:visible').first().waitFor()
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      await page.setViewportSize({ width: 1280, height: 800 })
      expect(over).toBeLessThanOrEqual(0)
    },
  )
})
