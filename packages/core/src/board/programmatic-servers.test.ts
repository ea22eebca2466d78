// Servers that a program passes to a board: which fields are optional, and what an error says.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it } from 'vitest'
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
