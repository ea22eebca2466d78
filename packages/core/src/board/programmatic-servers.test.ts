// Servers that a program passes to a board: which fields are optional, and what an error says.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { writtenEntrySchema } from '../config/schema.ts'
import type { ConfiguredServer } from '../config/types.ts'
import { InvalidInput } from '../errors.ts'
import { openBoard } from './open.ts'

const SERVER = fileURLToPath(new URL('../../../../test/support/pid-server.mjs', import.meta.url))

let stateDir: string
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), 'plugboard-given-'))
})
afterEach(() => rmSync(stateDir, { recursive: true, force: true }))

/** As a program in JavaScript would write it. */
const open = (...servers: readonly unknown[]) =>
  openBoard({ servers: servers as readonly ConfiguredServer[], stateDir, caller: 'user' })

it('fills in what an entry in a file may leave out, too', async () => {
  await using board = await open(
    { name: 'plain', entry: { command: process.execPath, args: [SERVER] } },
    {
      name: 'typed',
      scope: 'dynamic',
      source: 'test',
      entry: { type: 'stdio', command: process.execPath, args: [SERVER] },
    },
    { name: 'remote', entry: { type: 'http', url: 'http://127.0.0.1:9/mcp' } },
    { name: 'bare', entry: { url: 'http://127.0.0.1:9/mcp' } },
  )
  expect((await board.call('plain.whoami')).isError).toBeFalsy()
  expect((await board.call('typed.whoami')).isError).toBeFalsy()
  expect(board.servers().map(({ name, type }) => `${name} ${type}`)).toEqual([
    'plain stdio',
    'typed stdio',
    'remote http',
    'bare http',
  ])
})

it.each([
  [{ name: 'x', entry: { command: 5 } }, 'servers[0].entry.command'],
  [{ name: 'x', entry: { command: 'x', args: [{}] } }, 'servers[0].entry.args[0]'],
  [{ name: 'x', entry: {} }, 'servers[0].entry: has neither "command" nor "url"'],
  [{ name: 'x', entry: { type: 'telnet' } }, 'servers[0].entry.type'],
  [{ name: 'x' }, 'servers[0].entry'],
  [{ entry: { command: 'x' } }, 'servers[0].name'],
  [undefined, 'servers[0]'],
])('refuses %j by its path', async (server, path) => {
  const failed = await open(server).then(
    () => undefined,
    (error: unknown) => error,
  )
  expect(failed).toBeInstanceOf(InvalidInput)
  expect((failed as InvalidInput).message).toContain(path)
  expect((failed as InvalidInput).hint).toBeTruthy()
})

/** For every field of an entry: values that are refused, with what the path ends in where it is inside the value. */
const COMMAND_FIELDS = {
  command: [5, '', null, ['x'], {}],
  args: ['-y', 5, {}, [[1], '[0]'], [['a', null], '[1]'], [['a', 7], '[1]'], [[true], '[0]'], [[{}], '[0]']],
  env: ['A=1', 5, [], [{ A: 1 }, '.A'], [{ A: true }, '.A'], [{ A: null }, '.A'], [{ 'a-b': {} }, '["a-b"]']],
  cwd: [5, '', {}],
  inheritEnv: ['yes', 1, null],
} as const
const REMOTE_FIELDS = {
  url: [5, '', {}, 'mcp', 'ftp://a/mcp', 'https://user:secret@a/mcp'],
  headers: ['A: 1', 5, [], [{ A: 1 }, '.A'], [{ A: ['x'] }, '.A'], [{ 'X-A': false }, '["X-A"]']],
  headersHelper: [5, '', {}],
  id: [5],
  oauth: [
    true,
    'x',
    [{ clientId: 5 }, '.clientId'],
    [{ clientId: '' }, '.clientId'],
    [{ callbackPort: '80' }, '.callbackPort'],
    [{ callbackPort: 0 }, '.callbackPort'],
    [{ callbackPort: 65_536 }, '.callbackPort'],
    [{ authServerMetadataUrl: 5 }, '.authServerMetadataUrl'],
    [{ scopes: 5 }, '.scopes'],
    [{ scopes: [5] }, '.scopes'],
    [{ xaa: 'yes' }, '.xaa'],
    [{ clientSecret: 'x' }, '.clientSecret'],
  ],
} as const
const ANY_FIELDS = {
  type: ['telnet', 5, null, 'STDIO'],
  timeout: ['30', 0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31, {}],
  connectTimeout: ['30s', 0, -1, Number.NaN, 2 ** 40, []],
  disabled: ['no', 0, null],
  reconnect: [
    5,
    true,
    [{ maxAttempts: -1 }, '.maxAttempts'],
    [{ maxAttempts: 1.5 }, '.maxAttempts'],
    [{ maxAttempts: '3' }, '.maxAttempts'],
    [{ delayMs: 0 }, '.delayMs'],
    [{ retryMs: '1s' }, '.retryMs'],
    [{ maxRetries: 1 }, '.maxRetries'],
  ],
  permissions: [
    'allow',
    [{ allowedTools: 'x' }, '.allowedTools'],
    [{ allowedTools: [5] }, '.allowedTools[0]'],
    [{ deniedTools: { x: true } }, '.deniedTools'],
    [{ allowedResources: 5 }, '.allowedResources'],
    [{ readPermission: 'yes' }, '.readPermission'],
    [{ writePermission: true }, '.writePermission'],
  ],
  alwaysLoad: ['all', 1, {}, [5]],
  concurrentTools: ['x', true, [[5], '[0]']],
  description: [5, {}],
  roots: [true, '/tmp', [5], [[''], '[0]']],
  share: ['everyone', true],
} as const

/** The fields of entries that only editors and embedding programs have. */
const OTHERS = ['ideName', 'name']

function* wrongEntries(): Generator<readonly [entry: object, path: string]> {
  const command = { command: 'y' }
  const remote = { url: 'https://a.example/mcp' }
  const tables = [
    [command, { ...COMMAND_FIELDS, ...ANY_FIELDS }],
    [remote, { ...REMOTE_FIELDS, ...ANY_FIELDS }],
  ] as const
  for (const [base, fields] of tables)
    for (const [field, values] of Object.entries(fields) as [string, readonly unknown[]][])
      for (const one of values) {
        const isPair = Array.isArray(one) && one.length === 2 && /^[.[]/.test(String(one[1]))
        const [value, inside] = isPair ? one : [one, '']
        yield [{ ...base, [field]: value }, `.${field}${inside}`]
      }
}

it('refuses every field of the wrong type by its path, however the server is given', async () => {
  const tried = new Set<string>()
  for (const [entry, path] of wrongEntries()) {
    tried.add(/^\.(\w+)/.exec(path)?.[1] ?? '')
    const given = JSON.stringify(entry)
    const forms = [
      ['servers.x', { servers: { x: entry } }],
      ['config.servers.x', { config: { servers: { x: entry } } }],
      ...(path.endsWith('.clientSecret') || path.endsWith('.maxRetries')
        ? []
        : [['servers[0].entry', { servers: [{ name: 'x', entry }] }] as const]),
    ] as const
    for (const [at, options] of forms) {
      const failed = await openBoard({ ...(options as object), cwd: stateDir, stateDir }).then(
        async (board) => {
          await board.close()
          return 'opened'
        },
        (error: unknown) => error,
      )
      expect([given, failed]).toEqual([given, expect.any(InvalidInput)])
      const { message, hint } = failed as InvalidInput
      expect([given, message]).toEqual([
        given,
        expect.stringMatching(new RegExp(`^${literal(at + path)}: \\S`)),
      ])
      expect(hint).not.toMatch(/skipped|taken as text/)
      expect(message).not.toContain('secret@')
    }
  }
  // A field that is added to the schema needs a row above.
  const fields = writtenEntrySchema.def.options.flatMap(({ shape }) => Object.keys(shape))
  expect([...tried, ...OTHERS].sort()).toEqual([...new Set(fields)].sort())
})

const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

it('a whole entry of a list is checked, too', async () => {
  const whole = { type: 'stdio', command: 'y', args: [], env: { A: 1 } }
  const server = { name: 'x', entry: whole, scope: 'dynamic', source: 'test', signature: 's' }
  await expect(open(server)).rejects.toThrow('servers[0].entry.env.A: expected a string, found a number.')
})
