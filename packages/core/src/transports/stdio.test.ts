import type { ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import type { StdioEntry } from '../config/entry.ts'
import { Cancelled, InitError, IoError } from '../errors.ts'
import { isRunning } from '../files/running.ts'
import { type Host, systemHost } from '../host.ts'
import { STDIO_LIMITS } from '../limits.ts'
import { type TestContext, testContext, until, type Wire, wire, within } from './fixtures/support.ts'
import { openTransport } from './open.ts'
import type { StdioTransport } from './stdio.ts'

const CHILD = fileURLToPath(new URL('fixtures/child.mjs', import.meta.url))

const open: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

function entryOf(behaviour = 'good', argument = '', more: Partial<StdioEntry> = {}): StdioEntry {
  return { type: 'stdio', command: process.execPath, args: [CHILD, behaviour, argument], env: {}, ...more }
}

async function started(
  entry: StdioEntry = entryOf(),
  context: TestContext = testContext(),
): Promise<Wire & { stdio: StdioTransport; context: TestContext }> {
  const stdio = (await openTransport(entry, context)) as StdioTransport
  const line = wire(stdio)
  open.push(() => stdio.close())
  const ready = line.next('ready')
  ready.catch(() => {})
  await stdio.start()
  if (entry.args[1] !== 'exit') await ready
  return { ...line, stdio, context }
}

describe('a stdio server', () => {
  it('is spoken to line by line', async () => {
    const { request, stdio } = await started()
    expect(await request('echo', { text: 'hello' })).toEqual({ text: 'hello' })
    expect(stdio.pid).toBeGreaterThan(0)
    expect('stderr' in stdio).toBe(true)
  })

  it('is started once, and not again after it is closed', async () => {
    const { request, stdio } = await started()
    const again = { code: 'INIT_ERROR', stage: 'transport', message: 'This transport was started before.' }
    const { pid } = stdio
    await expect(stdio.start()).rejects.toMatchObject(again)
    expect(await request('pid')).toMatchObject({ pid })
    await stdio.close()
    await expect(stdio.start()).rejects.toMatchObject(again)
    expect(stdio.pid).toBe(pid)
  })

  it('sees an allow-list of our environment and its own, unless the entry asks for everything', async () => {
    const host = systemHost({
      env: { ...process.env, PATH: process.env['PATH'], SECRET_TOKEN: 's', LC_ALL: 'C' },
    })
    const closed = await started(
      entryOf('good', '', { env: { OWN: '1' } }),
      testContext({ host }) as TestContext,
    )
    const env = (await closed.request('env'))['env'] as Record<string, string>
    expect(env).toMatchObject({ OWN: '1', LC_ALL: 'C', PATH: process.env['PATH'] })
    expect(env).not.toHaveProperty('SECRET_TOKEN')
    const wide = await started(
      entryOf('good', '', { inheritEnv: true }),
      testContext({ host }) as TestContext,
    )
    expect((await wide.request('env'))['env']).toHaveProperty('SECRET_TOKEN', 's')
  })

  it('may split a character, end lines with CRLF, and send lines of a megabyte', async () => {
    const { request } = await started()
    expect(await request('split', { text: 'žluťoučký 🐎' })).toEqual({ text: 'žluťoučký 🐎' })
    const { text } = await request('big', { bytes: 1_000_000 })
    expect(text).toHaveLength(1_000_000)
  })

  it('may answer with 40 MB on one line for little more than in forty lines', async () => {
    const { request } = await started()
    const cost = async (work: () => Promise<unknown>) => {
      const before = process.cpuUsage()
      await work()
      const { user, system } = process.cpuUsage(before)
      return user + system
    }
    const one = 1_000_000
    await request('big', { bytes: one })
    const many = await cost(async () => {
      for (let line = 0; line < 40; line++) await request('big', { bytes: one })
    })
    let length = 0
    const single = await cost(async () => {
      length = String((await request('big', { bytes: 40 * one }))['text']).length
    })
    expect(length).toBe(40 * one)
    // About 1; joining all chunks again for each new one makes it many times that.
    expect(single / many).toBeLessThan(5)
  })

  it('may write banners and other JSON to stdout: they become log lines', async () => {
    const { request, context, errors } = await started()
    await request('noise')
    const noise = context.lines.filter(({ stream }) => stream === 'stdout').map(({ text }) => text)
    expect(noise).toEqual(['Welcome to the server!', '{"level":"info","msg":"started"}', '[1, 2]', '{broken'])
    expect(errors).toEqual([])
  })

  it('may flood stderr: it is drained, logged and kept only as a tail', async () => {
    const { request, context, stdio } = await started()
    await request('stderr-flood', { bytes: 10_000_000 }, 20_000)
    await until(() => context.lines.length >= 100_000)
    expect(stdio.stderrTail().length).toBeLessThanOrEqual(STDIO_LIMITS.stderrTailBytes)
    expect(stdio.stderrTail()).toMatch(/e{99}$/)
  })

  it('that floods stdout with 100 MB of noise without a newline loses nothing', async () => {
    const { transport, request, errors, closes } = await started()
    await transport.send({ jsonrpc: '2.0', id: 1, method: 'flood', params: { bytes: 100_000_000 } })
    // The first response is on the same line as the noise, and lost with it.
    void request('echo', { n: 1 }).catch(() => undefined)
    expect(await request('echo', { n: 2 })).toEqual({ n: 2 })
    expect(errors).toEqual([])
    expect(closes()).toBe(0)
  })

  it('fails the request whose answer is too long, and no other', async () => {
    const { transport, request, closes, errors } = await started()
    const failed = new Promise<unknown>((resolve) => {
      const deliver = transport.onmessage
      transport.onmessage = (message, extra) => {
        if ('error' in message) resolve(message)
        else deliver?.(message, extra)
      }
    })
    await transport.send({ jsonrpc: '2.0', id: 'big', method: 'big', params: { bytes: 70_000_000 } })
    expect(await request('echo', { n: 1 })).toEqual({ n: 1 })
    expect(await failed).toMatchObject({ id: 'big', error: { data: { code: 'ANSWER_TOO_LARGE' } } })
    expect(closes()).toBe(0)
    expect(errors).toEqual([])
  })
})

describe('a stdio server that goes away', () => {
  it('at once is reported with its code and its last words', async () => {
    const { closed, errors, stdio, closes } = await started(entryOf('exit', '3'))
    await within(closed, 'close')
    expect(errors[0]).toMatchObject({ code: 'IO_ERROR', message: '"fixture" exited with code 3.' })
    expect((errors[0] as IoError).hint).toContain('last words')
    expect(stdio.stderrTail()).toBe('first words\nlast words')
    expect(closes()).toBe(1)
  })

  it('gives its exit as the reason to a request that was being written, not the broken pipe', async () => {
    const { transport } = await started(entryOf('exit', '3'))
    const text = 'x'.repeat(4_000_000)
    const sent = transport.send({ jsonrpc: '2.0', id: 1, method: 'echo', params: { text } })
    await expect(sent).rejects.toMatchObject({ code: 'IO_ERROR', message: '"fixture" exited with code 3.' })
  })

  it('in the middle of a call is reported, and a later send is refused', async () => {
    const { transport, closed, errors } = await started()
    await transport.send({ jsonrpc: '2.0', id: 1, method: 'exit', params: { code: 1 } })
    await within(closed, 'close')
    expect(errors).toHaveLength(1)
    await expect(transport.send({ jsonrpc: '2.0', id: 2, method: 'echo' })).rejects.toBeInstanceOf(IoError)
  })

  it('settles every send that it never read', async () => {
    const { transport, stdio } = await started(entryOf('deaf'))
    const text = 'x'.repeat(200_000)
    const sends = Array.from({ length: 20 }, (_, id) =>
      transport.send({ jsonrpc: '2.0', id, method: 'echo', params: { text } }).then(
        () => 'sent',
        (error: unknown) => error,
      ),
    )
    await new Promise((resolve) => setTimeout(resolve, 50))
    process.kill(stdio.pid ?? 0, 'SIGKILL')
    const outcomes = await within(Promise.all(sends), 'settling')
    expect(outcomes.at(-1)).toBeInstanceOf(IoError)
  })

  it('refuses to pile up without end for a server that does not read', async () => {
    const { transport } = await started(entryOf('deaf'))
    const text = 'x'.repeat(STDIO_LIMITS.unsentBytes / 2)
    const first = transport.send({ jsonrpc: '2.0', id: 1, method: 'echo', params: { text } })
    first.catch(() => {})
    const second = transport.send({ jsonrpc: '2.0', id: 2, method: 'echo', params: { text } })
    await expect(second).rejects.toBeInstanceOf(IoError)
  })

  it('by closing its output and living on is lost and ended', async () => {
    const { transport, closed, errors, stdio } = await started()
    const pid = stdio.pid ?? 0
    await transport.send({ jsonrpc: '2.0', id: 1, method: 'close-stdout' })
    await within(closed, 'close')
    expect(errors[0]?.message).toContain('closed its output')
    await until(() => !isRunning(pid), 'end of the child')
  })

  it('leaving a child behind takes it along', async () => {
    const { request, closed } = await started()
    const { pid } = await request('grandchild', { thenExit: true, holdPipes: true, how: 'stubborn' })
    await within(closed, 'close')
    await until(() => !isRunning(Number(pid)), 'end of the grandchild')
  })
})

describe('the pipes of a stdio server', () => {
  const shell = (script: string): StdioEntry => ({
    type: 'stdio',
    command: 'sh',
    args: ['-c', script],
    env: {},
  })

  it('bring a last message without a newline', async () => {
    const stdio = await openTransport(
      shell(`printf '{"jsonrpc":"2.0","method":"bye"}'; printf '\\n\\nwords\\n' >&2`),
      testContext(),
    )
    const { received, closed } = wire(stdio)
    open.push(() => stdio.close())
    await stdio.start()
    await within(closed, 'closed')
    expect(received).toEqual([{ jsonrpc: '2.0', method: 'bye' }])
  })

  it('that are closed on our side are said to be so', async () => {
    const real = systemHost()
    const children: ChildProcess[] = []
    const spawn: Host['spawn'] = (...call) => {
      const child = real.spawn(...call)
      children.push(child)
      return child
    }
    const stdio = await openTransport(shell('exec sleep 60'), testContext({ host: { ...real, spawn } }))
    open.push(() => stdio.close())
    await stdio.start()
    children.at(-1)?.stdin?.destroy()
    await expect(stdio.send({ jsonrpc: '2.0', method: 'x' })).rejects.toThrow('"fixture" is not running.')
  })
})

describe('a stdio server that cannot start', () => {
  it('is not started for a caller that has given up, and has no process', async () => {
    const stdio = (await openTransport(
      entryOf(),
      testContext({ signal: AbortSignal.abort() }),
    )) as StdioTransport
    await expect(stdio.start()).rejects.toBeInstanceOf(Cancelled)
    expect(stdio.pid).toBe(null)
  })

  it('for a reason of the system passes it on, and names it where it is known', async () => {
    const known = new InitError('The start folder is not ours.', { stage: 'transport' })
    for (const [thrown, message] of [
      [known, 'The start folder is not ours.'],
      [new Error('E2BIG'), '"tool" could not be started.'],
    ] as const) {
      const real = systemHost()
      const spawn: Host['spawn'] = (command, ...rest) => {
        if (command.endsWith('tool')) throw thrown
        return real.spawn(command, ...rest)
      }
      const entry = { ...entryOf(), command: 'tool' }
      const stdio = await openTransport(entry, testContext({ host: { ...real, spawn } }))
      await expect(stdio.start()).rejects.toThrow(message)
    }
  })

  it('for want of its command names it and says what to install', async () => {
    const failed = started(entryOf('', '', { command: 'npx', args: [], env: { PATH: '/nonexistent' } }))
    await expect(failed).rejects.toMatchObject({
      code: 'INIT_ERROR',
      stage: 'transport',
      message: '"npx" was not found on PATH.',
      hint: 'Install Node.js, which brings npx.',
      cause: { code: 'ENOENT' },
    })
  })

  it('for want of its folder names the folder', async () => {
    const failed = started(entryOf('good', '', { cwd: '/nonexistent/folder' }))
    await expect(failed).rejects.toMatchObject({
      message: 'The folder "/nonexistent/folder" does not exist.',
    })
  })

  it('because the file may not be executed says so', async () => {
    const failed = started(entryOf('', '', { command: CHILD, args: [] }))
    await expect(failed).rejects.toMatchObject({ code: 'INIT_ERROR', cause: { code: 'EACCES' } })
  })
})

describe('closing a stdio server', () => {
  it('is orderly, said once, and may be asked for twice', async () => {
    const { stdio, closes, errors } = await started()
    const pid = stdio.pid ?? 0
    await Promise.all([stdio.close(), stdio.close()])
    expect(isRunning(pid)).toBe(false)
    expect(closes()).toBe(1)
    expect(errors).toEqual([])
  })

  it('ends one that ignores SIGINT and SIGTERM, with its stubborn grandchild', async () => {
    const { stdio, request } = await started(entryOf('stubborn'))
    const { pid } = await request('grandchild', { how: 'stubborn' })
    await new Promise((resolve) => setTimeout(resolve, 150))
    const asked: string[] = []
    const kill = process.kill
    process.kill = (target: number, signal?: string | number) => {
      if (typeof signal === 'string') asked.push(signal)
      return kill.call(process, target, signal)
    }
    try {
      await stdio.close()
    } finally {
      process.kill = kill
    }
    expect(asked).toEqual(['SIGINT', 'SIGTERM', 'SIGKILL'])
    expect(isRunning(stdio.pid ?? 0)).toBe(false)
    await until(() => !isRunning(Number(pid)), 'end of the grandchild')
  })

  it('before it started, or after it was lost, is harmless', async () => {
    const never = await openTransport(entryOf(), testContext())
    await never.close()
    const { stdio, closed, closes } = await started(entryOf('exit', '0'))
    await within(closed, 'close')
    await stdio.close()
    expect(closes()).toBe(1)
  })

  it('leaves no handle and no process, two hundred times', { timeout: 120_000 }, async () => {
    const context = testContext()
    const cycle = async () => {
      const stdio = (await openTransport(
        { type: 'stdio', command: '/bin/cat', args: [], env: {} },
        context,
      )) as StdioTransport
      wire(stdio)
      await stdio.start()
      await stdio.send({ jsonrpc: '2.0', method: 'ping' })
      await stdio.close()
      return stdio.pid
    }
    await cycle()
    const handles = () => process.getActiveResourcesInfo().length
    const before = handles()
    const pids: (number | null)[] = []
    const cycles = process.env['PLUGBOARD_LONG'] ? 1000 : 200
    for (let done = 0; done < cycles; done += 10)
      pids.push(...(await Promise.all(Array.from({ length: 10 }, cycle))))
    expect(pids.filter((pid) => pid !== null && isRunning(pid))).toEqual([])
    await until(() => handles() <= before, 'handles back to where they were')
  })
})
