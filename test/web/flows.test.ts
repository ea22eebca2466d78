// The page as a user works with it, in a real browser, against real servers: add, approve, call, follow, decide, and come back
// after the process was killed.
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startAuthorizationServer } from '../../packages/core/src/auth/fixtures/authorization-server.ts'
import { startResourceServer } from '../../packages/core/src/auth/fixtures/resource-server.ts'
import { COMMAND } from '../support/cli.ts'
import { entryOf, everything } from '../support/servers.ts'
import { noTerminal, openTerminalWith } from '../support/terminal.ts'
import { callShown, executablePath, type OpenedPage, openPage, settingsOf, untilState } from './page.ts'

const HOSTILE = {
  command: process.execPath,
  args: [fileURLToPath(new URL('./hostile-server.mjs', import.meta.url))],
}

describe.skipIf(!executablePath)('the page', () => {
  let opened: OpenedPage
  beforeAll(async () => {
    opened = await openPage(
      {
        everything,
        budget: entryOf('@modelcontextprotocol/server-budget-allocator', ['--stdio']),
        hostile: HOSTILE,
      },
      { mcpServers: { pinned: entryOf('@modelcontextprotocol/server-memory') } },
    )
    await untilState(opened.page, 'everything', 'connected')
  }, 90_000)
  afterAll(async () => {
    await opened?.close()
  })

  it('fits 360 pixels in every view while a question waits, and shows which view it is', async () => {
    const { page, go } = opened
    await page.getByRole('link', { name: /Decide 1/ }).waitFor()
    await page.setViewportSize({ width: 360, height: 740 })
    const views = 'servers servers/pinned tools resources prompts skills timeline decide health audit'
    const found: string[] = []
    for (const view of views.split(' ')) {
      await go(`#/${view}`)
      await page.locator('main h1:visible, main h2:visible').first().waitFor()
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      if (over > 0) found.push(`${view} is ${over} pixels too wide`)
      const current = await page.locator('.nav-item[aria-current]').boundingBox()
      if (!current || current.x < 0 || current.x + current.width > 360) found.push(`${view} is out of sight`)
    }
    await page.setViewportSize({ width: 1280, height: 800 })
    await go('#/servers')
    expect(found).toEqual([])
  })

  it('adds a server after it showed the change of the file', async () => {
    const { page, place } = opened
    const before = settingsOf(place)
    await page.getByRole('button', { name: 'Add server' }).click()
    const dialog = page.getByRole('dialog', { name: 'Add a server' })
    const memory = entryOf('@modelcontextprotocol/server-memory')
    await dialog.getByLabel('Name', { exact: true }).fill('memory')
    await dialog.getByLabel('Command', { exact: true }).fill(memory.command)
    await dialog.getByLabel(/^Arguments/).fill(memory.args.join('\n'))
    await dialog.getByLabel('Where it is written').selectOption('user')
    await dialog.getByRole('button', { name: 'Show the change' }).click()
    await dialog.locator('.diff-added', { hasText: '"memory": {' }).waitFor()
    expect(settingsOf(place)).toBe(before)
    await dialog.getByRole('button', { name: 'Write this change' }).click()
    await untilState(page, 'memory', 'connected')
    expect(JSON.parse(settingsOf(place)).mcpServers.memory).toEqual({
      command: memory.command,
      args: memory.args,
    })
  })

  it('approves exactly the entry that it shows', async () => {
    const { page, place } = opened
    await page.getByRole('button', { name: 'Review' }).click()
    const shown = page.getByRole('region', { name: 'What pinned runs' })
    expect(JSON.parse((await shown.textContent()) ?? '')).toMatchObject({ command: process.execPath })
    // The file changes while the dialog is open: what was shown is not what would be approved.
    place.write('.mcp.json', { mcpServers: { pinned: { command: 'other' } } })
    await page.getByRole('button', { name: 'Approve exactly this' }).click()
    await page.getByText('is not what was shown any more').waitFor()
    await shown.getByText('"other"').waitFor()
    place.write('.mcp.json', { mcpServers: { pinned: entryOf('@modelcontextprotocol/server-memory') } })
    await shown.getByText('server-memory').waitFor()
    await page.getByRole('button', { name: 'Approve exactly this' }).click()
    await untilState(page, 'pinned', 'connected')
  })

  it('calls a tool with a nested form, and copies the call as a command', async () => {
    const { page, go } = opened
    await go('#/tools/mcp__memory__create_entities')
    await page.getByRole('button', { name: 'Add to entities' }).click()
    await page.getByLabel('name required').fill("Ada's")
    await page.getByLabel('entityType required').fill('person')
    await page.getByRole('button', { name: 'Add to observations' }).click()
    await page.getByLabel('observations 1 required').fill('wrote programs')
    await callShown(page)
    expect(await page.locator('.calls').textContent()).toContain('wrote programs')
    await page.getByRole('button', { name: /Copy as/ }).click()
    await page.getByRole('menuitem', { name: /Command/ }).click()
    await page.getByText('Copied as a command').waitFor()
    const copied = await page.evaluate<string>('navigator.clipboard.readText()')
    expect(copied).toMatch(/^plugboard call memory\.create_entities 'entities:=\[\{.*Ada'\\''s/)
  })

  it('shows progress, and cancels', async () => {
    const { page, go } = opened
    await go('#/tools/mcp__everything__trigger-long-running-operation')
    await page.getByLabel(/^duration/).fill('30')
    await page.getByLabel(/^steps/).fill('100')
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.locator('progress[value]').waitFor()
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.locator('.call-state', { hasText: 'cancelled' }).waitFor()
  })

  it('shows requests that ended without an answer as cancelled, whoever left, and trace prints the same', async () => {
    const { page, place, go } = opened
    const name = 'trigger-long-running-operation'
    await go('#/timeline')
    await page.getByLabel('Filter by method, tool or id').fill(name)
    const rows = (state: RegExp) =>
      page.getByRole('link', { name: new RegExp(`tools/call ${name}${state.source}`) })
    const cancelled = rows(/ cancelled [\d.,]+ m?s/)
    await expect.poll(() => cancelled.count()).toBe(1)
    const env = { PATH: process.env['PATH'] ?? '', HOME: place.home, PLUGBOARD_RESIDENT: '1' }
    const words = ['call', `everything.${name}`, 'duration=60', 'steps=2']
    // A caller that is killed says nothing to anyone.
    const caller = spawn(process.execPath, [COMMAND, ...words], { cwd: place.project, env, stdio: 'ignore' })
    await rows(/ …/).waitFor()
    caller.kill('SIGKILL')
    await expect.poll(() => cancelled.count()).toBe(2)
    const client = new Client({ name: 'Some Editor', version: '1' })
    const transport = { command: process.execPath, args: [COMMAND, 'connect'], cwd: place.project, env }
    await client.connect(new StdioClientTransport(transport))
    const stop = new AbortController()
    const args = { duration: 60, steps: 2 }
    const called = client.callTool(
      { name: `mcp__everything__${name}`, arguments: args },
      { signal: stop.signal },
    )
    await rows(/ …/).waitFor()
    stop.abort()
    await called.catch(() => undefined)
    await client.close()
    await expect.poll(() => cancelled.count()).toBe(3)
    expect(await rows(/ …/).count()).toBe(0)
    await cancelled.last().click()
    await page.locator('.chip', { hasText: 'cancelled' }).waitFor()
    const { stdout } = await place.run('trace', 'everything')
    expect(
      stdout.match(new RegExp(`⊘ everything {2}tools/call ${name} cancelled \\d+ ms$`, 'gm')),
    ).toHaveLength(3)
  })

  it("answers a server's question", async () => {
    const { page, go } = opened
    await go('#/tools/mcp__everything__trigger-elicitation-request')
    await page.getByRole('button', { name: 'Call', exact: true }).click()
    await page.getByRole('link', { name: /Decide \d/ }).click()
    const card = page.getByRole('article', { name: /everything/ })
    await card.getByLabel('String required').fill('Grace')
    await card.getByRole('button', { name: 'Send to everything' }).click()
    await card.waitFor({ state: 'detached' })
    await go('#/timeline')
    await page.getByLabel('Filter by method, tool or id').fill('elicitation')
    await page.getByRole('link', { name: /elicitation\/create/ }).click()
    await page.getByRole('region', { name: 'Answer' }).getByText('"Grace"').waitFor()
  })

  it('shows every message of a terminal too, and trace prints the same', async () => {
    const { page, place, go } = opened
    const called = await place.runWith(
      { PLUGBOARD_RESIDENT: '1' },
      'call',
      'everything.get-sum',
      'a=19',
      'b=23',
    )
    expect(called.stdout).toContain('42')
    await go('#/timeline')
    await page.getByLabel('Filter by method, tool or id').fill('get-sum')
    await page.getByRole('link', { name: /tools\/call get-sum/ }).click()
    await page.getByRole('region', { name: 'Request' }).getByText('19').waitFor()
    const traced = (await place.run('trace', 'everything', '--json', '--messages')).json.entries
    expect(traced).toContainEqual(
      expect.objectContaining({
        kind: 'response',
        method: 'tools/call',
        name: 'get-sum',
        durationMs: expect.any(Number),
      }),
    )
    expect((await place.run('trace', 'everything')).stdout).toMatch(/→ everything {2}tools\/call get-sum/)
  })

  it('compares two calls, and says which rule decided', async () => {
    const { page, go } = opened
    await go('#/tools/mcp__everything__get-sum')
    for (const a of ['1', '2']) {
      await page.getByLabel(/^a /).fill(a)
      await page.getByLabel(/^b /).fill('5')
      await callShown(page)
    }
    await go('#/timeline')
    await page.getByLabel('Filter by method, tool or id').fill('get-sum')
    const rows = page.getByRole('link', { name: /tools\/call get-sum/ })
    await expect.poll(() => rows.count()).toBeGreaterThan(2)
    await rows.nth(-2).click()
    await page.getByText('the user called it directly').first().waitFor()
    await page.getByRole('button', { name: 'Compare with…' }).click()
    await rows.nth(-1).click()
    const differences = page.getByRole('region', { name: 'The requests: differences' })
    await differences.getByRole('row', { name: /arguments\.a 1 2/ }).waitFor()
  })

  it('draws its charts anew when light becomes dark', async () => {
    const { page, go } = opened
    await go('#/health')
    const marker = '.chart .u-series:nth-child(2) .u-marker'
    await page.locator(marker).first().waitFor()
    const color = () =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${marker}')).borderColor`)
    const light = await color()
    await page.emulateMedia({ colorScheme: 'dark' })
    await expect.poll(color).not.toBe(light)
    await page.emulateMedia({ colorScheme: 'light' })
    await expect.poll(color).toBe(light)
  })

  it('writes a rule from a decision, and verifies the log', async () => {
    const { page, place, go } = opened
    await go('#/audit')
    await page.getByRole('button', { name: 'Verify the chain' }).click()
    await page.getByText(/lines, none changed/).waitFor()
    await page
      .getByRole('row', { name: /get-sum/ })
      .first()
      .getByRole('button', { name: 'Rule…' })
      .click()
    const dialog = page.getByRole('dialog', { name: 'Write a rule' })
    await dialog.getByLabel('Rule', { exact: true }).fill('not a rule')
    await dialog.getByRole('button', { name: 'Show the change' }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByLabel('Rule', { exact: true }).fill('mcp__everything__get-sum')
    await dialog.getByRole('button', { name: 'Show the change' }).click()
    await dialog.locator('.diff-added', { hasText: 'mcp__everything__get-sum' }).waitFor()
    await dialog.getByRole('button', { name: 'Write this change' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(JSON.parse(settingsOf(place)).permissions).toEqual({ deny: ['mcp__everything__get-sum'] })
    const refused = await place.runWith(
      { PLUGBOARD_RESIDENT: '1' },
      'call',
      'everything.get-sum',
      'a=1',
      'b=2',
    )
    expect(refused.code).toBe(6)
  })

  it('shows the app of a tool, and its server is asked through the permissions', async () => {
    const { page, go } = opened
    await go('#/tools/mcp__budget__get-budget-data')
    await callShown(page)
    const app = page.frameLocator('iframe.app-frame')
    await app.getByText('Budget Allocator').first().waitFor()
    await app.getByText('Marketing').first().waitFor()
    await go('#/tools/mcp__hostile__app')
    await callShown(page)
    await page.getByRole('link', { name: /Decide \d/ }).waitFor()
    const hostile = page.frameLocator('iframe.app-frame')
    await hostile.getByText('foreign tool').waitFor()
    expect(await hostile.getByText('foreign tool').textContent()).toContain('"isError":true')
    // In another page: leaving this one would end the app.
    const other = await opened.context.newPage()
    await other.goto(`${opened.origin}/#/decide`)
    const question = other.getByRole('article', { name: 'Permission: hostile' })
    expect(await question.textContent()).toContain('erase')
    await question.getByRole('button', { name: 'Deny' }).click()
    await hostile.getByText('end: done').waitFor()
    expect(await hostile.getByText('own tool').textContent()).not.toContain('everything was erased')
    await other.close()
  })

  it.skipIf(noTerminal() !== undefined)('is offered by a call of a tool with an app', async () => {
    const { place, context } = opened
    const terminal = await openTerminalWith(place, { env: { PLUGBOARD_RESIDENT: '1' } }, [
      'call',
      'budget.get-budget-data',
    ])
    const page = await context.newPage()
    try {
      await terminal.see(/Trust this folder\?[\s\S]*\(n\)o/)
      await terminal.press('Enter')
      await terminal.see(/Open it in the browser\?[\s\S]*\(n\)o/)
      await terminal.type('y')
      const screen = (await terminal.see('exit 0')).replaceAll('\n', '')
      const url = /http:\/\/127\.0\.0\.1:\d+\/#token=[0-9a-f]+&board=[^&]*&view=[\w%-]+/.exec(screen)?.[0]
      await page.goto(url ?? '')
      await page.getByRole('button', { name: 'Call', exact: true }).waitFor()
      expect(page.url()).toContain('#/tools/mcp__budget__get-budget-data')
    } finally {
      await terminal.close()
      await page.close()
    }
  })

  it('logs in at the real authorization server', async () => {
    const { page, place, go, context } = opened
    const as = await startAuthorizationServer({ consentPage: true })
    const rs = await startResourceServer({ as })
    try {
      const settings = JSON.parse(settingsOf(place))
      settings.mcpServers.guarded = { type: 'http', url: rs.url }
      place.write('~/.plugboard/settings.json', settings)
      await go('#/servers')
      await untilState(page, 'guarded', 'needs login')
      await go('#/servers/guarded')
      await page.getByRole('button', { name: 'Log in…' }).click()
      const [popup] = await Promise.all([
        context.waitForEvent('page'),
        page.getByRole('link', { name: /^Open 127/ }).click(),
      ])
      await popup.waitForFunction('document.title === "login"')
      await popup.click('#go')
      await popup.waitForFunction('document.title === "consent"')
      await popup.click('#go')
      await page.getByText('You are logged in to guarded').waitFor()
      await untilState(page, 'guarded', 'connected')
      await popup.close()
    } finally {
      await rs.close()
      await as.close()
    }
  })

  it('goes on after the process was killed, as soon as another runs', async () => {
    const { page, place, go, residentPid } = opened
    process.kill(await residentPid(), 'SIGKILL')
    await page.getByText('The resident board does not answer').waitFor()
    await place.run('up')
    await page.getByText('The resident board does not answer').waitFor({ state: 'detached' })
    await go('#/tools/mcp__everything__echo')
    await page.getByLabel('message required').fill('back again')
    await callShown(page)
    await page.getByText('Echo: back again').first().waitFor()
  })

  it('had no error of its own', () => {
    expect(opened.errors).toEqual([])
  })
})
