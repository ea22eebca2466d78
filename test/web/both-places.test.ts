// A question that is open on the page and where it comes from, a terminal or another MCP client: the first answer counts, and the
// other place is told.
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMAND } from '../support/cli.ts'
import { everything } from '../support/servers.ts'
import { noTerminal, openTerminalWith, type Terminal } from '../support/terminal.ts'
import { executablePath, type OpenedPage, openPage, untilState } from './page.ts'

describe.skipIf(!executablePath || noTerminal() !== undefined)('a question in two places', () => {
  let opened: OpenedPage
  let terminal: Terminal | undefined
  beforeAll(async () => {
    opened = await openPage({ everything }, {}, { permissions: { ask: ['mcp__everything__echo'] } })
    await untilState(opened.page, 'everything', 'connected')
    await opened.go('#/decide')
  }, 90_000)
  afterAll(async () => {
    await terminal?.close()
    await opened?.close()
  })

  const card = () => opened.page.getByRole('article', { name: /everything/ })
  const asked = async () => {
    await terminal?.close()
    terminal = await openTerminalWith(opened.place, { env: { PLUGBOARD_RESIDENT: '1' } }, [
      'call',
      'everything.trigger-elicitation-request',
    ])
    await card().waitFor()
    return terminal
  }
  const send = async () => {
    await card().getByLabel('String required').fill('Grace')
    await card().getByRole('button', { name: 'Send to everything' }).click()
    await card().waitFor({ state: 'detached' })
  }

  it('is closed at the terminal when the page answers', { timeout: 60_000 }, async () => {
    const { see } = await asked()
    await see('String (required)')
    await send()
    const screen = await see('exit 0')
    // The prompt is off the screen, and the user told, before the result is printed.
    expect(screen).toMatch(
      /String \(required\)[\s\S]*withdrawn[\s\S]*answered in the browser\.[\s\S]*Name: Grace[\s\S]*exit 0/,
    )
  })

  it('is closed at the terminal also when the page is quicker than its prompt', {
    timeout: 60_000,
  }, async () => {
    const { see } = await asked()
    await send()
    expect(await see('exit 0')).toMatch(/answered in the browser\.[\s\S]*Name: Grace/)
  })

  it('is closed on the page when the terminal answers', { timeout: 60_000 }, async () => {
    const { see, press } = await asked()
    await see('String (required)')
    await press('Escape')
    await card().waitFor({ state: 'detached' })
    await opened.page.getByText('was answered in the terminal').first().waitFor()
    await see('exit 0')
  })

  /** Another program that uses the board; it shows questions when it says so. */
  const program = async (answer?: string) => {
    const client = new Client(
      { name: 'Some Editor', version: '1' },
      { capabilities: answer === undefined ? {} : { elicitation: { form: {} } } },
    )
    if (answer !== undefined)
      client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { answer } }))
    const { home, project } = opened.place
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [COMMAND, 'connect', '--ask', 'elicit'],
        cwd: project,
        env: { PATH: process.env['PATH'] ?? '', HOME: home, PLUGBOARD_MANAGED_DIR: `${home}/../managed` },
      }),
    )
    return client
  }
  const call = { name: 'mcp__everything__echo', arguments: { message: 'from afar' } }

  it('of another program shows who asks, and is answered on the page', { timeout: 60_000 }, async () => {
    const client = await program()
    try {
      const called = client.callTool(call)
      await card().getByText('Some Editor').first().waitFor()
      expect(await card().textContent()).toContain('from afar')
      await card().getByRole('button', { name: 'Allow once' }).click()
      expect(JSON.stringify(await called)).toContain('Echo: from afar')
    } finally {
      await client.close()
    }
  })

  it('of another program is closed on the page when that program answers', { timeout: 60_000 }, async () => {
    const client = await program('no')
    try {
      expect(JSON.stringify(await client.callTool(call))).toContain('denied')
      await opened.page.getByText('was answered in Some Editor').first().waitFor()
      await card().waitFor({ state: 'detached' })
    } finally {
      await client.close()
    }
  })
})
