// A headers helper: the environment it runs with, and what of its output counts.
import { describe, expect, it } from 'vitest'
import { retimed } from '../fixtures/timers.ts'
import { systemHost } from '../host.ts'
import { EntryHeaders } from './entry-headers.ts'
import { testContext } from './fixtures/support.ts'
import type { TransportContext } from './open.ts'

/** Prints the named variables of its environment as headers. */
const PRINTS = `"${process.execPath}" -p "JSON.stringify({'x-own': process.env.MY_TOKEN ?? 'none', 'x-name': process.env.PLUGBOARD_MCP_SERVER_NAME ?? 'none', 'x-url': process.env.CLAUDE_CODE_MCP_SERVER_URL ?? 'none'})"`

function headers(headersHelper: string | undefined, env: Record<string, string | undefined> = {}) {
  const learnt: string[] = []
  const context = {
    server: 's',
    host: systemHost({ env: { PATH: process.env['PATH'], ...env } }),
    learnSecret: (value: string) => void learnt.push(value),
  } as unknown as TransportContext
  const entry = { url: 'https://x.example/mcp', headers: { 'X-Fixed': '1' } }
  return {
    learnt,
    made: new EntryHeaders({ ...entry, ...(headersHelper !== undefined && { headersHelper }) }, context),
  }
}

describe('a headers helper', () => {
  it('has our environment, its server and the address, and its values are secrets', async () => {
    const { made, learnt } = headers(PRINTS, { MY_TOKEN: 'hush', EMPTY: undefined })
    const printed = { 'x-own': 'hush', 'x-name': 's', 'x-url': 'https://x.example/mcp' }
    expect({ ...(await made.current()) }).toEqual({ 'x-fixed': '1', ...printed })
    expect(learnt).toEqual(Object.values(printed))
  })

  it('is not needed for fixed headers', async () => {
    const { made } = headers(undefined)
    expect(made.hasHelper).toBe(false)
    expect({ ...(await made.current()) }).toEqual({ 'x-fixed': '1' })
  })

  it.each([
    ['echo "[]"', 'did not print an object'],
    ['echo null', 'did not print an object'],
    ['echo x', 'did not print JSON'],
    ['exit 3', 'ended with code 3'],
    [`echo '{"a": 1}'`, 'printed a value that is not text'],
    [`echo '{"a b": "1"}'`, 'HTTP cannot carry'],
  ])('that runs %s is an error', async (command, message) => {
    await expect(Promise.resolve(headers(command).made.current())).rejects.toThrow(message)
  })

  it('that is ended, cannot start or takes too long is an error', async () => {
    await expect(Promise.resolve(headers('kill -KILL $$').made.current())).rejects.toThrow(
      'ended with code SIGKILL',
    )
    const entry = { url: 'https://x.example/mcp', headers: {}, headersHelper: 'sleep 60' }
    const lost = new EntryHeaders({ ...entry, helperCwd: '/no/such/folder' }, testContext())
    await expect(Promise.resolve(lost.current())).rejects.toMatchObject({
      message: 'The headers helper of "fixture" could not be started.',
      cause: { code: 'ENOENT' },
    })
    const hasty = retimed(systemHost(), (ms) => Math.min(ms, 20))
    const slow = new EntryHeaders(entry, testContext({ host: hasty }))
    await expect(Promise.resolve(slow.current())).rejects.toThrow('did not end within 10000 ms')
  })
})
