// page-pictures.mjs: the page of the board in a real browser with real servers, as the pictures of docs/ui.md.
import { execFileSync, spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../test/support/free-port.mjs'
import { ensureBrowser } from '../ensure-browser.mjs'
import { root } from '../ensure-install.mjs'

const SETTINGS = {
  mcpServers: {
    budget: { command: 'mcp-budget-allocator-server', args: ['--stdio'] },
    docs: { type: 'http', url: 'http://127.0.0.1:9/mcp' },
    everything: { command: 'mcp-server-everything' },
    files: { command: 'mcp-server-filesystem', args: ['.'] },
    memory: { command: 'mcp-server-memory' },
  },
}
const PROJECT = { mcpServers: { tickets: { command: 'node', args: ['./tools/tickets.js'] } } }
const SIZE = { width: 1240, height: 760 }
const CALLS = [
  ['everything.get-sum', 'a=19', 'b=23'],
  ['everything.echo', 'message=hello'],
  ['everything.get-structured-content', 'location=Chicago'],
  ['files.list_directory', 'path=.'],
  ['memory.read_graph'],
  ['everything.get-sum', 'a=1', 'b=2'],
  ['files.list_directory', 'path=.'],
]

/** Writes docs/ui-*.png. */
export async function drawPage(folder) {
  const executablePath = ensureBrowser()
  if (!executablePath) throw new Error('There is no browser to draw the page with.')
  const { chromium } = await import('playwright-core')
  const home = join(folder, 'home')
  const project = join(home, 'shop')
  mkdirSync(join(home, '.plugboard'), { recursive: true })
  mkdirSync(project)
  writeFileSync(join(home, '.plugboard/settings.json'), JSON.stringify(SETTINGS))
  writeFileSync(join(project, '.mcp.json'), JSON.stringify(PROJECT))
  const env = {
    PATH: [join(root, 'node_modules/.bin'), process.env.PATH].join(':'),
    HOME: home,
    PLUGBOARD_RESIDENT: '1',
    PLUGBOARD_MANAGED_DIR: join(folder, 'managed'),
  }
  const command = join(root, 'packages/cli/bin/plugboard.cjs')
  const run = (...args) =>
    execFileSync(process.execPath, [command, ...args], {
      cwd: project,
      env,
      encoding: 'utf8',
      timeout: 60_000,
    })
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage({ viewport: SIZE })
    await page.goto(JSON.parse(run('ui', '--no-open', '--json')).url)
    await page.getByText(/5 of 7 connected/).waitFor()
    for (const call of CALLS) run('call', ...call)
    await drawViews(page)
    await drawGateway(page, { command, env, project })
  } finally {
    await browser.close()
    run('down')
  }
}

const GATEWAY = {
  auth: { tokens: 'tokens.json' },
  roles: { developer: { expose: ['everything', 'memory'] }, reader: { expose: ['files'] } },
  limits: { user: { perMinute: 120, perDay: 5000 } },
}
const USERS = [
  ['ada', 'developer', 'claude-code'],
  ['grace', 'developer', 'cursor'],
  ['linus', 'reader', 'zed'],
]

/** The page of the administrators of a gateway with three users. */
async function drawGateway(page, { command, env, project }) {
  const [port, adminPort] = [await freePort(), await freePort()]
  const file = join(project, 'gateway.json')
  writeFileSync(file, JSON.stringify({ ...GATEWAY, admin: { port: adminPort } }))
  const run = (...args) =>
    execFileSync(process.execPath, [command, ...args], { cwd: project, env, encoding: 'utf8' })
  const tokens = USERS.map(
    ([name, role]) =>
      JSON.parse(run('serve', 'token', 'add', name, '--role', role, '--gateway', file, '--json')).token,
  )
  const words = ['serve', '--http', '--port', String(port), '--gateway', file, '--ui']
  const served = spawn(process.execPath, [command, ...words], { cwd: project, env })
  try {
    let said = ''
    served.stderr.on('data', (chunk) => {
      said += chunk
    })
    for (const end = Date.now() + 30_000; !/Page: \S+/.test(said); ) {
      if (Date.now() > end) throw new Error(`The gateway did not start: ${said}`)
      await new Promise((done) => setTimeout(done, 100))
    }
    for (const [at, [, , client]] of USERS.entries()) await greet(port, tokens[at], client)
    await page.emulateMedia({ colorScheme: 'light' })
    await page.goto(/Page: (\S+)/.exec(said)[1])
    await page.getByRole('row', { name: /linus/ }).waitFor()
    await page.mouse.move(0, 0)
    await page.screenshot({ path: join(root, 'docs/ui-gateway.png') })
    console.error('Wrote docs/ui-gateway.png')
  } finally {
    served.kill()
  }
}

async function greet(port, token, name) {
  const params = {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name, version: '1' },
  }
  await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
}

async function drawViews(page) {
  const shoot = async (name) => {
    await page.mouse.move(0, 0)
    await page.screenshot({ path: join(root, `docs/ui-${name}.png`) })
    console.error(`Wrote docs/ui-${name}.png`)
  }
  const go = (address) => page.evaluate(`location.hash = ${JSON.stringify(address)}`)
  await go('#/servers')
  await page.locator('.sparkline').first().waitFor()
  await shoot('servers')
  await go('#/tools/mcp__memory__create_entities')
  await page.getByRole('button', { name: 'Add to entities' }).click()
  await page.getByLabel('name required').fill('Ada')
  await page.getByLabel('entityType required').fill('person')
  await page.getByRole('button', { name: 'Add to observations' }).click()
  await page.getByLabel('observations 1 required').fill('wrote the first program')
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  await page.locator('.call-good').waitFor()
  await shoot('tools')
  await go('#/tools/mcp__budget__get-budget-data')
  await page.getByRole('button', { name: 'Call', exact: true }).click()
  await page.frameLocator('iframe.app-frame').getByText('Marketing').first().waitFor()
  await shoot('app')
  await page.emulateMedia({ colorScheme: 'dark' })
  await go('#/timeline')
  await page.locator('.rows-scroller .row', { hasText: 'tools/call' }).last().click()
  await page.getByRole('region', { name: 'Answer' }).waitFor()
  await shoot('timeline')
}
