// Every verb that opens a board prints the same and ends the same with the resident board and without it.
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place, type Ran } from '../support/cli.ts'

const path = (from: string) => fileURLToPath(new URL(from, import.meta.url))
const RAW = path('../../packages/core/src/connection/fixtures/raw.mjs')
const EVERYTHING = path('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js')
const OFF = { PLUGBOARD_RESIDENT: '0' }
const ON = { PLUGBOARD_RESIDENT: '1' }

let place: Place
beforeAll(() => {
  place = makePlace()
  place.write('~/.plugboard/settings.json', {
    mcpServers: {
      ev: { command: process.execPath, args: [EVERYTHING] },
      raw: { command: process.execPath, args: [RAW] },
      bad: { command: '/nowhere/no-such-program' },
      locked: { command: process.execPath, args: [RAW] },
      off: { command: process.execPath, args: [RAW] },
    },
    disabledServers: ['off', 'codebase'],
    permissions: { deny: ['mcp__locked'] },
    hooks: { PreToolUse: [{ hooks: [] }] },
  })
  place.write('.mcp.json', { mcpServers: { theirs: { command: process.execPath, args: [RAW] } } })
})
afterAll(() => place.remove())

/** What differs between any two runs: times, processes, where a file was saved. */
function comparable({ code, stdout, stderr }: Ran): unknown {
  const plain = (text: string) =>
    text
      .replaceAll(/"(durationMs|connectMs|uptimeMs)": [\d.]+/g, '"$1": 0')
      .replaceAll(/\b\d+ ms\b/g, 'N ms')
      .replaceAll(/ {2,}/g, '  ')
      .replaceAll(/[\w-]{16,}(?=\.(?:png|bin|json|txt))/g, 'ID')
  return { code, stdout: plain(stdout), stderr: plain(stderr) }
}

describe.each([
  // A first list, before anything is known.
  ['list --json'],
  ['list'],
  ['tools'],
  ['tools --json'],
  ['tools raw'],
  ['tools raw --cost'],
  ['tools --search echo'],
  ['tools raw.echo'],
  ['tools ev echo --json'],
  ['tools get-sum'],
  ['tools raw.ech'],
  ['tools bad'],
  ['tools ghost'],
  ['tools off'],
  ['tools theirs'],
  ['tools raw --changes --json'],
  ['call raw.echo n=1'],
  ['call raw echo n:=2 --json'],
  ['call get-sum a=1 b=2'],
  ['call mcp__ev__echo message=hi --json'],
  ['call ev.get-sum a=x b=2'],
  ['call ev.get-sum a=1'],
  ['call ev.echo message=hi more=1'],
  ['call ev'],
  ['call ev.ech'],
  ['call bad.echo'],
  ['call bad.echo --json'],
  ['call locked.echo'],
  ['call off.echo'],
  ['call theirs.echo'],
  ['call ghost.echo --json'],
  ['call raw.slow ms=20000 --timeout 3000'],
  ['call ev.get-annotated-message messageType=error'],
  ['call ev.get-tiny-image --json'],
  ['resources ev --json'],
  ['resources'],
  ['read ev demo://resource/static/document/features.md'],
  ['read ev demo://nowhere'],
  ['prompts'],
  ['prompt ev args-prompt city=Paris --json'],
  ['prompt ev ghost'],
  ['skills'],
  ['get ev --json'],
  ['get bad'],
  ['get ghost'],
  ['reconnect raw'],
  ['reconnect bad'],
  ['reconnect off'],
  ['--cwd /nowhere tools'],
  ['tools --no-such-option'],
])('plugboard %s', (line) => {
  it('is the same in both modes', async () => {
    const words = line.split(' ')
    const without = await place.runWith(OFF, ...words)
    const withIt = await place.runWith(ON, ...words)
    expect(comparable(withIt)).toEqual(comparable(without))
  })
})

describe.each([
  ['call ev.echo --message @-'],
  ['call ev.echo message=@-'],
  ['call ev.echo --message @here.txt'],
  ['call ev.echo --args -'],
  ['prompt ev args-prompt --city @-'],
  ['read ev demo://resource/static/document/features.md -o-'],
  ['read ev demo://resource/static/document/features.md -qo-'],
])('plugboard %s, with something on its input', (line) => {
  it('is the same in both modes', async () => {
    place.write('here.txt', 'from a file')
    const input = '{"message":"from the input"}'
    const without = await place.runPipedWith(OFF, input, ...line.split(' '))
    const withIt = await place.runPipedWith(ON, input, ...line.split(' '))
    expect(without.stdout).toMatch(/from the input|from a file|Echo|#/)
    expect(comparable(withIt)).toEqual(comparable(without))
  })
})

it('a folder that was removed is told in both modes', async () => {
  const shell = (env: Record<string, string>) => {
    const gone = join(place.home, 'gone')
    mkdirSync(gone)
    const line = `cd "$1" && rmdir "$1" && exec "$2" "$3" tools raw --json`
    const words = ['-c', line, 'sh', gone, process.execPath, COMMAND]
    return spawnSync('sh', words, { env: { HOME: place.home, ...env }, encoding: 'utf8', input: '' })
  }
  const [without, withIt] = [shell(OFF), shell(ON)]
  expect([withIt.status, withIt.stdout]).toEqual([without.status, without.stdout])
  expect(withIt.stderr).not.toContain('at ')
})

it('was run on the resident board', async () => {
  const { json } = await place.run('status', '--json')
  expect(json).toMatchObject({ running: true, clients: 0 })
  expect(json.servers.map(({ name }: { name: string }) => name)).toEqual(
    expect.arrayContaining(['ev', 'raw']),
  )
})
