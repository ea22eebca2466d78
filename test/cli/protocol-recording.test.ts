// --trace, record and replay as a user runs them: against a real server, and with a real client of another author.
import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'
import { everything } from '../support/servers.ts'

let place: Place
beforeAll(() => {
  place = makePlace()
  place.write('~/.plugboard/settings.json', { mcpServers: { everything } })
})
afterAll(() => place.remove())

it('--trace prints both directions on stderr, names what an answer answers, and leaves stdout alone', async () => {
  const { stdout, stderr } = await place.run('call', 'everything.get-sum', 'a=1', 'b=2', '--trace', '-q')
  expect(stdout).toBe('The sum of 1 and 2 is 3.\n')
  expect(stderr).toMatch(/→ everything #\d+ tools\/call \{"name":"get-sum","arguments":\{"a":1,"b":2\}/)
  expect(stderr).toMatch(/← everything #\d+ tools\/call \{"content":\[\{"type":"text","text":"The sum of/)
  expect(stderr).toMatch(/← everything #\d+ tools\/list .*… \(\d+ characters; -v shows all\)/)
  const whole = await place.run('call', 'everything.get-sum', 'a=1', 'b=2', '--trace', '-v')
  expect(whole.stderr).not.toContain('-v shows all')
}, 60_000)

it('a recording is a server: for us, for the SDK, with progress, and it says what it does not have', async () => {
  const steps = ['trigger-long-running-operation', 'duration=0.2', 'steps=2'] as const
  const sum = await place.run('record', 'sum.jsonl', '--', 'call', 'everything.get-sum', 'a=1', 'b=2')
  expect([sum.code, sum.stdout]).toEqual([0, 'The sum of 1 and 2 is 3.\n'])
  expect(sum.stderr).toMatch(/Wrote \d+ messages to .*sum\.jsonl/)
  await place.run('record', 'long.jsonl', '--', 'call', 'everything', ...steps)
  const file = `${place.project}/sum.jsonl`
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const replay = (name: string) => ({
    command: process.execPath,
    args: [COMMAND, 'replay', `${place.project}/${name}`],
  })
  place.write('~/.plugboard/settings.json', {
    mcpServers: { sum: replay('sum.jsonl'), long: replay('long.jsonl') },
  })
  expect((await place.run('call', 'sum.get-sum', 'b=2', 'a=1')).stdout).toBe('The sum of 1 and 2 is 3.\n')
  const other = await place.run('call', 'sum.get-sum', 'a=1', 'b=3')
  expect(other.code).toBe(1)
  expect(other.stderr).toContain(
    'The recording has no tools/call {"arguments":{"a":1,"b":3},"name":"get-sum"}',
  )
  const long = await place.run('call', 'long', ...steps, '--trace', '-q')
  expect(long.stdout).toContain('Long running operation completed')
  expect(long.stderr.match(/← long notifications\/progress/g)).toHaveLength(2)
  // A client that is not ours.
  const client = `
    import { Client } from '@modelcontextprotocol/sdk/client/index.js'
    import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(new StdioClientTransport({ command: process.execPath, args: ${JSON.stringify([COMMAND, 'replay', file])} }))
    console.log((await client.callTool({ name: 'get-sum', arguments: { a: 1, b: 2 } })).content[0].text)
    await client.close()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', client])
  expect(stdout).toBe('The sum of 1 and 2 is 3.\n')
}, 120_000)

it('refuses what cannot be recorded or replayed, and says what to do', async () => {
  place.write('two.jsonl', '{"type":"protocol-recording","version":1}\n')
  for (const [args, says] of [
    [['record', 'x.jsonl'], 'The verb and its words follow after --'],
    [['record', 'x.jsonl', '--', 'record', 'y'], '"record" cannot be recorded'],
    [['record', 'no/such/x.jsonl', '--', 'tools'], 'The recording cannot be written'],
    [['replay', 'none.jsonl'], 'There is no file'],
    [['replay', 'two.jsonl'], 'has messages of 0 servers'],
    [['replay', 'two.jsonl', 'x'], 'has no messages of "x"'],
  ] as const) {
    const { stderr, code } = await place.run(...args)
    expect([args, code >= 2, stderr]).toEqual([args, true, expect.stringContaining(says)])
  }
  // An error of the verb is reported as the verb reports it, and the recording is kept.
  const failed = await place.run('record', 'failed.jsonl', '--', 'call', 'nobody.nothing', '--json')
  expect([failed.code, failed.json.error.code]).toEqual([3, expect.any(String)])
  expect(readFileSync(`${place.project}/failed.jsonl`, 'utf8')).toContain('protocol-recording')
}, 60_000)
