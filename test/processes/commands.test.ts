// Other commands in processes of their own: reconnecting, interrupting, and a conversation whose server
// dies once.
import { existsSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ModelServer, modelServer } from '../../packages/agent/src/fixtures/model-server.mjs'
import { type Home, makeHome, stdioPeer } from './kit.ts'
import { httpPeer, type RemotePeer } from './remote.ts'

let home: Home
let model: ModelServer | undefined
let peer: RemotePeer | undefined

beforeEach(() => {
  home = makeHome()
})
afterEach(async () => {
  await model?.close()
  await peer?.close()
  model = undefined
  peer = undefined
  home.remove()
})

describe('plugboard reconnect', () => {
  it('says how a server came up', async () => {
    home.servers({ s: stdioPeer(home, '') })
    const text = await home.command(['reconnect', 's'])
    expect(text).toMatchObject({ code: 0, stderr: '' })
    expect(text.stdout).toMatch(/^✔ s: connected, 2 tools, 0 resources, 0 prompts \(\d+ ms\)\n$/)
    const { code, stdout } = await home.command(['reconnect', 's', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({
      name: 's',
      state: 'connected',
      tools: 2,
      connectMs: expect.any(Number),
    })
  })

  it.each([
    ['is not there', { command: 'no-such-command-anywhere' }, 4, 'INIT_ERROR'],
    ['is switched off', { command: 'x', disabled: true }, 6, 'DISABLED'],
  ])('ends with the code of what is wrong: the server %s', async (_what, entry, exit, code) => {
    home.servers({ s: entry })
    const ended = await home.command(['reconnect', 's', '--json'])
    expect(ended.code).toBe(exit)
    expect(JSON.parse(ended.stdout)).toMatchObject({ error: { code, server: 's' } })
  })

  it('refuses unknown servers', async () => {
    home.servers({ s: stdioPeer(home, '') })
    expect(await home.command(['reconnect', 'x'])).toMatchObject({ code: 3, stdout: '' })
    expect(await home.command(['reconnect'])).toMatchObject({ code: 2, stdout: '' })
  })

  it('tries a server again that required a login a moment ago', async () => {
    peer = await httpPeer('wants-login-once')
    home.servers({ s: { type: 'http', url: peer.url } })
    expect(await home.command(['call', 's.look'])).toMatchObject({ code: 5 })
    const remembered = peer.methods.length
    expect(await home.command(['call', 's.look'])).toMatchObject({ code: 5 })
    expect(peer.methods).toHaveLength(remembered)
    expect(await home.command(['reconnect', 's'])).toMatchObject({ code: 0 })
    expect(await home.command(['call', 's.look'])).toMatchObject({ code: 0, stdout: 'the answer of look\n' })
  })
})

describe.each(['SIGINT', 'SIGTERM'] as const)('%s while a server starts', (signal) => {
  it.each([
    ['doctor', ['doctor', 's']],
    ['get', ['get', 's']],
    ['watch', ['watch', 's', 'test://one']],
    ['call', ['call', 's.look']],
    ['list', ['list']],
    ['tools', ['tools', 's']],
    ['reconnect', ['reconnect', 's']],
  ])('ends %s with a one-line message', async (_name, args) => {
    home.servers({ s: stdioPeer(home, 'never-starts') })
    const when = () => existsSync(home.path('pids'))
    const { code, stderr } = await home.command(args, { interrupt: { signal, when } })
    expect({ code, stderr }).toMatchObject({ code: 130 })
    expect(stderr).toMatch(/cancelled/i)
    expect(stderr).not.toContain('internal error')
  })
})

describe('plugboard chat -p', () => {
  it('answers when its server dies once in the middle of a call', async () => {
    home.servers({ s: stdioPeer(home, 'exits-in-call') })
    model = await modelServer(({ results, tools }) => {
      const looked = results.find(({ name }) => name === 'mcp__s__look')
      if (looked) return { text: `It said: ${looked.text}` }
      if (!tools.includes('mcp__s__look') && results.length === 0)
        return { calls: [{ name: 'tool_search', arguments: { query: 'look' } }] }
      return { calls: [{ name: 'mcp__s__look', arguments: {} }] }
    })
    const env = { ANTHROPIC_API_KEY: 'secret', ANTHROPIC_BASE_URL: model.url }
    const ended = await home.command(['chat', '-p', 'look', '--allow', 'mcp__s__look'], { env })
    expect(ended).toMatchObject({ code: 0 })
    expect(ended.stdout).toContain('It said: the answer of look')
  })
})

describe('plugboard get', () => {
  it('shows what the server says about itself', async () => {
    home.servers({ s: stdioPeer(home, '') })
    const text = await home.command(['get', 's'])
    expect(text.stdout).toMatch(/capabilities\s+tools/)
    expect(text.stdout).toMatch(/instructions\s+Look before you write\./)
    const { stdout } = await home.command(['get', 's', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({
      capabilities: { tools: {} },
      instructions: 'Look before you write.',
    })
  })
})
