// The checks of `npm run compat`, on the servers that are installed here anyway.
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { odd } from '../support/servers.ts'
import { checkServer, checkWithSdk } from './check.mjs'
import { programIn } from './program.mjs'
import { type CompatServer, SERVERS } from './servers.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const HERE = [
  'everything',
  'everything-http',
  'everything-sse',
  'filesystem',
  'memory',
  'gitlab',
  'git',
  'notion',
]
const LIMIT_MS = 90_000

function named(name: string): CompatServer {
  const server = SERVERS.find((one) => one.name === name)
  if (!server) throw new Error(`${name} is not in the table`)
  return server
}

describe('a real server', () => {
  it.each(HERE)(
    '%s connects, lists, converts, answers, and leaves nothing behind',
    async (name) => {
      const server = named(name)
      const outcome = await checkServer(server, programIn(root, server))
      expect(outcome.problems).toEqual([])
      expect(outcome.tools).toBeGreaterThan(0)
      expect(outcome.called).toBe(server.call?.tool)
      // A check in the wrong place finds nothing left either.
      if (process.platform === 'linux' && !('over' in server)) expect(outcome.processes).toBeGreaterThan(0)
    },
    LIMIT_MS,
  )

  it(
    'with a tool whose schema has no type costs the bare SDK the whole list, and us nothing',
    async () => {
      const tools = [
        { name: 'good', inputSchema: { type: 'object' } },
        { name: 'odd', inputSchema: { properties: {} } },
      ]
      const { env, ...program } = odd(undefined, tools)
      const server = { name: 'odd', package: '', version: '', env }
      expect(await checkServer(server, program)).toMatchObject({ problems: [], tools: 2 })
      expect(await checkWithSdk(server, program)).toMatch(/^fails: Invalid result for tools/)
      expect(await checkWithSdk(named('memory'), programIn(root, named('memory')))).toBe('lists 9')
    },
    LIMIT_MS,
  )

  it(
    'that does not work is not taken for one that does',
    async () => {
      const server = { ...named('memory'), call: { tool: 'read_graph', args: {}, answer: /never/ } }
      const { problems } = await checkServer(server, programIn(root, server))
      expect(problems).toEqual([expect.stringContaining('read_graph answered something else')])
      const none = await checkServer(server, { command: process.execPath, args: ['-e', 'process.exit(3)'] })
      expect(none.problems[0]).toContain('exited with code 3')
    },
    LIMIT_MS,
  )
})
