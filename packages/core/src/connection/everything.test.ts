// The reference server from npm, over each of its transports.
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { afterEach, describe, expect, it } from 'vitest'
import { freePort } from '../../../../test/support/free-port.mjs'
import { board, configured, recorded, textOf, until } from './fixtures/kit.ts'

const script = createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/dist/index.js')
const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
})

const stdio = configured('everything', { type: 'stdio', command: process.execPath, args: [script], env: {} })

describe('the reference server', () => {
  it('shows its tools, resources and prompts over stdio', async () => {
    const made = await board({ servers: [stdio] })
    await made.ready()
    const [shown] = made.servers()
    expect(shown).toMatchObject({ state: 'connected', protocolVersion: '2025-11-25' })
    expect(shown?.tools).toBeGreaterThan(10)
    expect(shown?.resources).toBeGreaterThan(0)
    expect(shown?.prompts).toBeGreaterThan(0)
    expect(await made.link.connection('everything').list('templates')).not.toHaveLength(0)
  })

  it.each([
    ['streamableHttp', 'http', 'mcp'],
    ['sse', 'sse', 'sse'],
  ] as const)('shows them over %s too', async (mode, type, path) => {
    const port = await serve(mode)
    const made = await board({
      servers: [configured('everything', { type, url: `http://127.0.0.1:${port}/${path}`, headers: {} })],
    })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', type })
    const echoed = await made.link.request('everything', 'tools/call', {
      name: 'echo',
      arguments: { message: 'hi' },
    })
    expect(textOf(echoed)).toBe('Echo: hi')
  })

  it('is answered when it asks the user, the model and for the roots', async () => {
    const asked: string[] = []
    const made = await board({
      servers: [stdio],
      requestHandlers: {
        elicitForm: () => {
          asked.push('elicitation')
          return { action: 'accept', content: { name: 'Ada', check: true } }
        },
        sampling: () => {
          asked.push('sampling')
          return { role: 'assistant', model: 'test', content: { type: 'text', text: 'a poem' } }
        },
        roots: () => {
          asked.push('roots')
          return { roots: [{ uri: 'file:///work', name: 'work' }] }
        },
      },
    })
    const call = (name: string, args = {}) =>
      made.link.request('everything', 'tools/call', { name, arguments: args })
    expect(textOf(await call('trigger-elicitation-request'))).toContain('Ada')
    expect(textOf(await call('trigger-sampling-request', { prompt: 'Write', maxTokens: 10 }))).toContain(
      'a poem',
    )
    expect(textOf(await call('get-roots-list'))).toContain('file:///work')
    expect(new Set(asked)).toEqual(new Set(['elicitation', 'sampling', 'roots']))
  })

  it('does not offer what needs a capability that we do not advertise', async () => {
    const made = await board({ servers: [stdio] })
    await made.ready()
    const names = made.link.definitions().map(({ tool }) => tool.name)
    expect(names).not.toContain('trigger-sampling-request')
    expect(names).not.toContain('trigger-elicitation-request')
  })

  it('reports the progress of a long operation', async () => {
    const made = await board({ servers: [stdio] })
    const steps: number[] = []
    await made.link.request(
      'everything',
      'tools/call',
      { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 4 } },
      { onProgress: ({ progress }) => steps.push(progress) },
    )
    expect(steps).toEqual([1, 2, 3, 4])
  })

  it('tells of a resource that was subscribed to', async () => {
    const made = await board({ servers: [stdio] })
    const events = recorded(made)
    const [resource] = await made.link.connection('everything').list('resources')
    await made.link.connection('everything').subscribe(resource?.uri ?? '')
    await made.link.request('everything', 'tools/call', { name: 'toggle-subscriber-updates', arguments: {} })
    await until('an update arrives', () => events.some(({ type }) => type === 'resource-updated'))
  })
})

async function serve(mode: string): Promise<number> {
  const port = await freePort()
  const env = { ...process.env, PORT: String(port) }
  const child = spawn(process.execPath, [script, mode], { env, stdio: 'ignore' })
  const gone = new Promise<void>((done) => child.once('exit', () => done()))
  closers.push(async () => {
    child.kill('SIGKILL')
    await gone
  })
  await until(
    `port ${port} answers`,
    () =>
      fetch(`http://127.0.0.1:${port}/nothing`).then(
        () => true,
        () => false,
      ),
    15_000,
  )
  return port
}
