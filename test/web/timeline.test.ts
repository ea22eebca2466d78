// The timeline beside messages: hooks with their decisions, retries of HTTP with their headers, and skills; in a real browser and, the
// same, in `plugboard trace`. No secret of a header reaches either.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { entryOf } from '../support/servers.ts'
import { violationsOf } from './axe.ts'
import { callShown, executablePath, type OpenedPage, openPage, untilState } from './page.ts'
import { startRetryingServer } from './retrying-server.mjs'

const SKILLS = fileURLToPath(new URL('../../packages/core/src/skills/fixtures/official.mjs', import.meta.url))
const SECRETS = {
  'x-api-key': 'key-of-the-user-0123456789',
  Authorization: 'Bearer token-of-the-user-0123456789',
  'X-Team': 'a-team-of-the-user',
}
/** What must be seen nowhere. */
const SECRET = /of-the-user|of-the-server|of-the-session/
const HOOK = `${JSON.stringify(process.execPath)} -e "process.stdin.resume().on('end',()=>{const o={permissionDecision:'allow',updatedInput:{city:'Rome'}};console.log(JSON.stringify({hookSpecificOutput:o}))})"`

describe.skipIf(!executablePath)('the timeline', () => {
  let opened: OpenedPage
  let weather: Awaited<ReturnType<typeof startRetryingServer>>
  beforeAll(async () => {
    weather = await startRetryingServer()
    const refuse = { type: 'command', command: 'echo "not on a Sunday" >&2; exit 2' }
    opened = await openPage(
      {
        weather: { type: 'http', url: weather.url, headers: SECRETS },
        memory: entryOf('@modelcontextprotocol/server-memory'),
        docs: { command: process.execPath, args: [SKILLS] },
      },
      {},
      {
        hooks: {
          PreToolUse: [
            { matcher: 'weather.forecast', hooks: [{ type: 'command', command: HOOK }] },
            { matcher: 'memory.*', hooks: [refuse] },
          ],
        },
      },
    )
    await untilState(opened.page, 'weather', 'connected')
  }, 120_000)
  afterAll(async () => {
    await opened?.close()
    await weather?.close()
  })

  const call = async () => {
    const { page, go } = opened
    await go('#/tools/mcp__weather__forecast')
    await page.getByLabel('city required').fill('Oslo')
    await callShown(page)
  }

  it('shows the hooks of a call, its attempts and the headers of each, without secrets', async () => {
    const { page, go } = opened
    await call()
    await page.getByText('Sunny in Rome').first().waitFor()
    await go('#/timeline')
    await page.getByLabel('Kind').selectOption('again')
    const row = page.getByRole('link', { name: /tools\/call forecast.*429 → 200.*changed/ })
    await row.click()
    const hook = page.getByRole('region', { name: 'Hooks' }).getByRole('listitem')
    expect(await hook.textContent()).toMatch(/changed it.*PreToolUse.*settings\.json/s)
    const http = page.getByRole('region', { name: 'HTTP' })
    await http.getByText('attempt 1 · ').waitFor()
    expect(await http.textContent()).toMatch(/429.*attempt 1.*Retry-After 1\.0 s.*200.*attempt 2/s)
    await http.locator('summary').last().click()
    const sent = http.getByRole('table', { name: 'Request headers' })
    await sent.getByRole('row', { name: /authorization Bearer •••/ }).waitFor()
    await sent.getByRole('row', { name: /x-team •••/ }).waitFor()
    await sent.getByRole('row', { name: /content-type application\/json/ }).waitFor()
    await http.getByRole('row', { name: /set-cookie •••/ }).waitFor()
    const shown = (await page.textContent('body')) ?? ''
    expect(shown).not.toMatch(SECRET)
    expect(await violationsOf(page)).toEqual([])
  })

  it('exports the same, without secrets', async () => {
    const { page } = opened
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export' }).click(),
    ])
    const text = readFileSync(await file.path(), 'utf8')
    expect(text).not.toMatch(SECRET)
    const [entry] = JSON.parse(text).log.entries
    expect(entry).toMatchObject({
      request: { method: 'tools/call', params: { arguments: { city: 'Rome' } } },
      response: { result: { content: [{ text: 'Sunny in Rome' }] } },
      http: [
        { attempt: 1, status: 429, retryAfterMs: 1000, requestHeaders: { 'x-api-key': expect.any(String) } },
        { attempt: 2, status: 200, responseHeaders: { 'content-type': 'application/json' } },
      ],
      hooks: [{ event: 'PreToolUse', decision: 'changed' }],
    })
  })

  it('is printed by trace too', async () => {
    const { place } = opened
    const { stdout } = await place.run('trace', 'weather')
    expect(stdout).toMatch(/⚑ weather {2}PreToolUse forecast changed: .*settings\.json \d+ ms/)
    expect(stdout).toMatch(/⇄ weather {2}POST http:\S+ 429, Retry-After 1000 ms \d+ ms/)
    expect(stdout).toMatch(/⇄ weather {2}POST http:\S+ 200 \(attempt 2\) \d+ ms/)
    const { stdout: whole } = await place.run('trace', 'weather', '--messages', '--json')
    expect(whole).toContain('"requestHeaders"')
    expect(whole).not.toMatch(SECRET)
  })

  it('shows a hook that refused a call, though nothing was sent', async () => {
    const { page, place, go } = opened
    const refused = await place.runWith({ PLUGBOARD_RESIDENT: '1' }, 'call', 'memory.read_graph')
    expect(refused.stderr).toContain('not on a Sunday')
    await go('#/timeline')
    await page.getByLabel('Kind').selectOption('hooks')
    await page.getByRole('link', { name: /PreToolUse.*refused/ }).click()
    await page.getByRole('region', { name: 'Hooks' }).getByText('not on a Sunday', { exact: true }).waitFor()
  })

  it('shows skills and their files', async () => {
    const { page, go } = opened
    await go('#/skills')
    await page.getByRole('button', { name: /pdf-processing/ }).click()
    await page.getByText('PDF processing', { exact: true }).waitFor()
    await page.getByLabel('File').selectOption('references/FORMS.md')
    await page.getByText('Forms have fields.').waitFor()
    await page.getByLabel('File').selectOption('assets/dot.bin')
    await page.getByText(/is no text \(4 bytes\)/).waitFor()
    expect(await violationsOf(page)).toEqual([])
    expect(opened.errors).toEqual([])
  })
})
