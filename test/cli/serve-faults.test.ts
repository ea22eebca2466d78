// `plugboard serve --http` in surroundings that break: token files that cannot be read, a log without a reader, a state folder
// that cannot be written. It goes on, tells the operator where it can, and clients notice nothing.
import { spawnSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import {
  type GatewayOptions,
  legacySession,
  modern,
  type RawSession,
  SERVER,
  type ServedGateway,
  serveGateway,
  until,
} from '../support/gateway.ts'

const ADA = 'the-token-of-ada-4711'
const EVE = 'the-token-of-eve-0815'

const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})

async function served(options: GatewayOptions): Promise<ServedGateway> {
  const gateway = await serveGateway({ tokens: [ADA, EVE], ...options })
  ends.push(() => gateway.remove())
  return gateway
}

function server(name: string, env: Readonly<Record<string, string>> = {}) {
  return { command: process.execPath, args: [SERVER], env: { NAME: name, ...env } }
}

const readText = async (session: RawSession): Promise<string> =>
  (await session.call('mcp__one__read')).message?.result?.content?.[0]?.text ?? ''

describe('a token file that cannot be used', () => {
  const ways: Readonly<Record<string, (file: string) => void>> = {
    'is a link to itself': (file) => {
      rmSync(file)
      symlinkSync(file, file)
    },
    'is a named pipe': (file) => {
      rmSync(file)
      spawnSync('mkfifo', [file])
    },
    'is a folder': (file) => {
      rmSync(file)
      mkdirSync(file)
    },
    'is gone': (file) => rmSync(file),
    'is in a folder that became a file': (file) => {
      rmSync(dirname(file), { recursive: true })
      writeFileSync(dirname(file), '')
    },
    'has tokens that no client can send': (file) => writeFileSync(file, 'ein-schlüssel-für-alle\n'),
  }

  it('leaves the last good tokens in force, and is told when it breaks and when it is good again', async () => {
    const gateway = await served({ servers: { one: server('one') } })
    const folder = join(gateway.place.project, 'secrets')
    const file = join(folder, 'tokens')
    const good = () => {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder)
      writeFileSync(`${file}.next`, `${ADA}\n`)
      renameSync(`${file}.next`, file)
    }
    good()
    rmSync(join(gateway.place.project, 'tokens'))
    symlinkSync(file, join(gateway.place.project, 'tokens'))
    await until(async () => (await legacySession(gateway.url, EVE).catch(() => undefined)) === undefined)
    const ada = await legacySession(gateway.url, ADA)
    const pid = await readText(ada)
    for (const [way, breaks] of Object.entries(ways)) {
      const before = gateway.stderr().length
      const told = () => gateway.stderr().slice(before)
      breaks(file)
      const why = () => `${way}: ${gateway.stderr()}`
      await until(() => told().includes('The last good tokens stay valid'), 30_000, why)
      expect(await readText(ada)).toBe(pid)
      good()
      await until(() => told().includes('is good again'), 30_000, why)
      expect(await readText(ada)).toBe(pid)
    }
    expect(gateway.child.exitCode).toBeNull()
  }, 120_000)
})

describe('a log without a reader', () => {
  it('does not end the gateway', async () => {
    const gateway = await served({ servers: { one: server('one') } })
    const ada = await legacySession(gateway.url, ADA)
    const pid = await readText(ada)
    gateway.child.stderr?.destroy()
    // Each of these is told on stderr, which nothing reads any more.
    gateway.place.write('~/.plugboard/settings.json', '{')
    gateway.child.kill('SIGHUP')
    const faults = async () =>
      (await ada.request('resources/read', { uri: 'plugboard://status' })).message.result.contents[0].text
    await until(async () => (await faults()).includes('settings.json'))
    gateway.place.write('~/.plugboard/settings.json', {
      mcpServers: { one: server('one'), two: server('two') },
    })
    await until(async () => (await faults()).includes('"two"'))
    expect(await readText(ada)).toBe(pid)
    expect(await gateway.stop('SIGTERM')).toBe(0)
  }, 60_000)
})

describe('a state folder that cannot be written', () => {
  const order = { name: 'mcp__one__order', arguments: { key: 'k' } }
  const first = { first: { action: 'accept', content: { name: 'Ada' } } }

  it('costs no client its session, and no answer is passed on that could be passed on twice', async () => {
    const gateway = await served({ servers: { one: server('one', { ERA: 'modern' }) } })
    const ada = await legacySession(gateway.url, ADA)
    const ask = async () => (await modern(gateway.url, ADA, 'tools/call', order)).message.result.requestState
    const answer = async (requestState: string) =>
      (await modern(gateway.url, ADA, 'tools/call', { ...order, requestState, inputResponses: first }))
        .message
    const asked = await ask()
    // For the superuser, too, a folder is no file to write to.
    const spent = join(gateway.place.home, '.plugboard/state/gateway-spent')
    rmSync(spent, { force: true })
    mkdirSync(spent)
    expect((await answer(asked)).error.message).toContain('cannot record at the moment')
    expect(gateway.stderr()).toContain('cannot be written')
    // What is asked from now on needs no record: it is worth nothing to another process.
    const later = await ask()
    const left = await ask()
    expect((await answer(later)).result.resultType).toBe('input_required')
    const ended = await legacySession(gateway.url, ADA)
    expect((await fetch(gateway.url, { method: 'DELETE', headers: ended.headers })).status).toBe(204)
    expect((await ended.request('ping')).status).toBe(404)
    await gateway.stop('SIGKILL')
    await gateway.start()
    expect((await ada.request('ping')).status).toBe(200)
    expect((await answer(left)).error.data).toEqual({ code: 'OUTCOME_UNKNOWN' })
  }, 120_000)
})

describe('a token that is shown one tool', () => {
  it('does not learn from a notification that something else changed', async () => {
    const gateway = await served({
      servers: { one: server('one', { TOOLS: 'read,grow', LATER: 'hidden' }), two: server('two') },
      tokens: [ADA, `${EVE} one.read`],
    })
    const ada = await legacySession(gateway.url, ADA)
    const eve = await legacySession(gateway.url, EVE)
    const heard = { ada: '', eve: '' }
    for (const [name, session] of Object.entries({ ada, eve }) as ['ada' | 'eve', RawSession][]) {
      await session.request('resources/subscribe', { uri: 'plugboard://status' })
      const headers = { ...session.headers, accept: 'text/event-stream' }
      const reader = (await fetch(gateway.url, { headers })).body?.getReader()
      ends.push(() => reader?.cancel().catch(() => undefined))
      const read = async (): Promise<void> => {
        const part = await reader?.read()
        if (!part || part.done) return
        heard[name] += new TextDecoder().decode(part.value)
        return read()
      }
      read().catch(() => undefined)
    }
    await until(async () => (await readText(ada)) !== '')
    // Servers that come up are news, and not what is tested here.
    await until(async () => (await ada.request('tools/list')).text.includes('mcp__two__read'))
    await new Promise((done) => setTimeout(done, 1000))
    heard.ada = ''
    heard.eve = ''
    await ada.call('mcp__one__grow')
    await until(() => heard.ada.includes('tools/list_changed'))
    gateway.place.write('~/.plugboard/settings.json', '{')
    await until(() => heard.ada.includes('resources/updated'))
    // The same list of hers would come by now: both are told at the same moment.
    await new Promise((done) => setTimeout(done, 500))
    expect(heard.eve.replaceAll(': still here\n\n', '')).toBe('')
  }, 60_000)
})
