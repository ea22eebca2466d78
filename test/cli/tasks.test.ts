// Calls that become tasks, as a user meets them: their state while they run, Ctrl-C that leaves them running, and `plugboard tasks`
// in another process later. The server is one of 2026-07-28 with the tasks extension, over HTTP.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'
import { noTerminal, openTerminalWith, type Terminal } from '../support/terminal.ts'

const SERVER = fileURLToPath(new URL('../../packages/gateway/src/fixtures/suite.mjs', import.meta.url))
const missing = noTerminal()
if (missing) console.warn(`The terminal tests are skipped: ${missing}`)

let server: ChildProcess
let url = ''
let place: Place
let terminal: Terminal | undefined

beforeAll(async () => {
  server = spawn(process.execPath, [SERVER, '--http'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [line] = (await once(server.stdout ?? server, 'data')) as [Buffer]
  url = JSON.parse(String(line)).url
})
afterAll(async () => {
  const gone = once(server, 'exit')
  server.stdin?.end()
  await gone
})
beforeEach(() => {
  place = makePlace()
  place.write('~/.plugboard/settings.json', { mcpServers: { jobs: { type: 'http', url } } })
})
afterEach(async () => {
  await terminal?.close()
  terminal = undefined
  await place.run('down')
  place.remove()
})

/** Starts the call in a terminal, presses Ctrl-C once it is a task, and returns the id it can be found by. */
async function detached(env: Readonly<Record<string, string>>, seconds: number): Promise<string> {
  terminal = await openTerminalWith(place, { env }, [
    'call',
    'jobs.slow_compute',
    `seconds=${seconds}`,
    'label=looms',
  ])
  await terminal.see('computing looms', 30_000)
  await terminal.press('C-c')
  const screen = await terminal.see('exit 130', 30_000)
  const [, id = ''] = /Detached: jobs\.slow_compute goes on\. `plugboard tasks ([0-9a-f]{8})`/.exec(
    screen.replace(/\n/g, ''),
  ) ?? [undefined, screen]
  expect(id).toMatch(/^[0-9a-f]{8}$/)
  return id
}

describe.skipIf(missing)('Ctrl-C', () => {
  it.each([
    ['in this process', { PLUGBOARD_RESIDENT: '0' }],
    ['on the resident board', { PLUGBOARD_RESIDENT: '1' }],
  ])(
    'leaves a task running (%s), and a later command gets its result',
    { timeout: 120_000 },
    async (_, env) => {
      const id = await detached(env, 4)
      const folder = join(place.home, '.plugboard/state/tasks')
      const [file = ''] = readdirSync(folder)
      expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600)
      const listed = await place.runWith(env, 'tasks', '--json')
      expect(listed.json).toMatchObject({ tasks: [{ id, server: 'jobs', tool: 'slow_compute' }] })
      const result = await place.runWith(env, 'tasks', id, '--json')
      expect(result.json).toMatchObject({ tool: 'slow_compute', content: [{ text: 'computed looms' }] })
      expect(result.code).toBe(0)
      expect((await place.runWith(env, 'tasks', '--json')).json).toEqual({ tasks: [] })
    },
  )

  it('leaves a task that can be looked at, waited for with a limit, and cancelled', {
    timeout: 120_000,
  }, async () => {
    const id = await detached({}, 300)
    expect((await place.run('tasks', id, '--status', '--json')).json).toMatchObject({ id, status: 'working' })
    const late = await place.run('tasks', id, '--timeout', '1000')
    expect(late).toMatchObject({ code: 7, stderr: expect.stringContaining('its task goes on') })
    const entry = { type: 'http', url: `${url}?another` }
    place.write('~/.plugboard/settings.json', { mcpServers: { jobs: entry } })
    const other = await place.run('tasks', id)
    expect(other).toMatchObject({ code: 2, stderr: expect.stringContaining('another one than that of task') })
    place.write('~/.plugboard/settings.json', { mcpServers: {} })
    expect(await place.run('tasks', id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('not configured here'),
    })
    place.write('~/.plugboard/settings.json', { mcpServers: { jobs: { type: 'http', url } } })
    expect(await place.run('tasks', id, '--cancel')).toMatchObject({ code: 0 })
    expect(await place.run('tasks', id)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('There is no task'),
    })
  })
})

describe('a call that becomes a task', () => {
  it('tells its state on stderr, prints its result, and leaves no record', async () => {
    const ran = await place.run('call', 'jobs.slow_compute', 'seconds=1', 'label=x')
    expect(ran).toMatchObject({ code: 0, stdout: 'computed x\n' })
    expect(ran.stderr).toContain('Task of jobs: working: computing x')
    expect(await place.run('tasks')).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('No call left a task'),
    })
  })

  it.each([
    ['failing_job', 1, 'The job failed.'],
    ['protocol_error_job', 1, 'The job broke.'],
  ])('ends as the call would have (%s)', async (tool, code, text) => {
    const ran = await place.run('call', `jobs.${tool}`)
    expect(ran.code).toBe(code)
    expect(ran.stdout + ran.stderr).toContain(text)
  })

  it.each(['nothing', '../../settings', '0000000g', ''])('finds no task by the id %j', async (id) => {
    expect(await place.run('tasks', id, '--cancel')).toMatchObject({ code: 2 })
  })
})
