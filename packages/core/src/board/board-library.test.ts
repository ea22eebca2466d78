// What a program uses of a board beyond calls: plain servers, servers that come and go, tools as functions, results for a
// model, rules of its own, hints in its own terms.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, expectTypeOf, it } from 'vitest'
import { everything, odd } from '../../../../test/support/servers.ts'
import { InvalidInput, isPlugboardError, PermissionDenied } from '../errors.ts'
import { systemHost } from '../host.ts'
import type { ToolResult } from '../tools/index.ts'
import { fromAnthropic } from '../tools/index.ts'
import { openBoard } from './open.ts'
import type { BoardOptions } from './options.ts'

declare module '../tools/typed-tools.ts' {
  interface ToolTypes {
    'typed.add': { arguments: { a: number; b?: number }; result: { sum: number } }
    'typed.list': { arguments: { limit?: number }; result: unknown }
  }
}

let top: string
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'plugboard-library-'))
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

const open = (options: BoardOptions) =>
  openBoard({ stateDir: join(top, 'state'), caller: 'user', ...options })
const failure = async (work: Promise<unknown>) => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!isPlugboardError(error)) throw new Error(`expected an error of the family, got ${String(error)}`)
  return error
}
const text = ({ content }: ToolResult) =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join()

describe('servers as plain objects', () => {
  it('are enough for a board', async () => {
    await using board = await open({ servers: { everything } })
    expect(text(await board.call('everything.get-sum', { a: 1, b: 2 }))).toContain('3')
  })

  it.each([
    [
      { memory: { comand: 'x' } },
      'servers.memory: has neither "command" nor "url"',
      'Did you mean "command"?',
    ],
    [{ memory: { command: 'x', arg: [] } }, 'servers.memory.arg: unknown key "arg"', 'Did you mean "args"?'],
    [{ memory: { command: 'x', args: [1, {}] } }, 'servers.memory.args[1]', ''],
    [{ 'my server': { command: 'x' } }, 'servers["my server"]', 'my-server'],
    [
      { memory: { command: 'x', permissions: { deniedTool: [] } } },
      'servers.memory.permissions.deniedTool',
      '',
    ],
    [{ memory: null }, 'servers.memory', ''],
    ['memory', 'servers', ''],
  ])('are refused by their path: %j', async (servers, path, hint) => {
    const error = await failure(open({ servers: servers as never }))
    expect(error).toBeInstanceOf(InvalidInput)
    expect(error.message).toContain(path)
    expect(error.hint).toContain(hint)
  })

  it('are checked beside those of the files, too', async () => {
    const error = await failure(open({ cwd: top, config: { servers: { memory: { comand: 'x' } as never } } }))
    expect(error.message).toContain('config.servers.memory')
  })
})

describe('servers that come and go', () => {
  it('are added, replaced and removed', async () => {
    await using board = await open({ servers: {} })
    expect(await board.add('everything', everything)).toMatchObject({ name: 'everything', type: 'stdio' })
    expect(text(await board.call('everything.echo', { message: 'hi' }))).toBe('Echo: hi')
    expect((await failure(board.add('everything', everything))).message).toContain('already')
    await board.update('everything', odd(undefined, [{ name: 'only', inputSchema: { type: 'object' } }]))
    expect((await board.toolsOf('everything')).map(({ mcpInfo }) => mcpInfo.toolName)).toEqual(['only'])
    await board.remove('everything')
    expect(board.servers()).toEqual([])
    expect((await failure(board.remove('everything'))).code).toBe('SERVER_NOT_FOUND')
    expect((await failure(board.update('x', everything))).code).toBe('SERVER_NOT_FOUND')
    expect((await failure(board.add('x', { command: 5 } as never))).message).toContain('x.command')
  })

  it('stay as the program left them when the files are read again', async () => {
    const host = {
      ...systemHost(),
      env: { ...process.env, HOME: top, PLUGBOARD_MANAGED_DIR: join(top, 'm') },
    }
    const project = join(top, 'project')
    mkdirSync(project)
    const file = join(project, '.mcp.json')
    writeFileSync(
      file,
      JSON.stringify({ mcpServers: { one: everything, two: { ...everything, env: { A: '1' } } } }),
    )
    await using board = await open({
      host,
      cwd: project,
      config: { approveProject: true, withoutBuiltins: true },
      watch: true,
    })
    await board.add('mine', { ...everything, env: { A: '2' } })
    await board.remove('two')
    writeFileSync(
      file,
      JSON.stringify({
        mcpServers: {
          one: everything,
          two: { ...everything, env: { A: '1' } },
          three: { ...everything, env: { A: '3' } },
        },
      }),
    )
    await board.reload()
    expect(
      board
        .servers()
        .map(({ name }) => name)
        .sort(),
    ).toEqual(['mine', 'one', 'three'])
  })
})

describe('one server', () => {
  it('has its tools as functions', async () => {
    await using board = await open({ servers: { everything } })
    const server = board.server('everything')
    expect(text((await server.tools.echo?.({ message: 'hi' })) as ToolResult)).toBe('Echo: hi')
    expect(text((await server.tools['get-sum']?.({ a: 1, b: 2 })) as ToolResult)).toContain('3')
    expect(Object.keys(server.tools)).toContain('get-sum')
    expect('nothing' in server.tools).toBe(false)
    expect(await Promise.resolve(server.tools)).toBe(server.tools)
    expect((await failure(server.tools.ecko?.({}) as Promise<unknown>)).hint).toContain('everything.echo')
    expect(server.state().state).toBe('connected')
    expect((await server.listTools()).length).toBeGreaterThan(5)
    expect(() => board.server('nothing')).toThrow('There is no server named "nothing".')
  })

  it('has the types that were generated for it', async () => {
    await using board = await open({ servers: {} })
    expectTypeOf(board.call<'typed.add'>)
      .parameter(1)
      .toEqualTypeOf<{ a: number; b?: number }>()
    expectTypeOf(board.call<'typed.add'>).returns.resolves.toHaveProperty('structuredContent')
    expectTypeOf<Awaited<ReturnType<typeof board.call<'typed.add'>>>['structuredContent']>().toEqualTypeOf<
      { sum: number } | undefined
    >()
    expectTypeOf<Awaited<ReturnType<typeof board.call<'other.tool'>>>>().toEqualTypeOf<ToolResult>()
    const uses = async () => {
      // @ts-expect-error: `a` is a number
      await board.call('typed.add', { a: 'nope' })
      // @ts-expect-error: `a` is required
      await board.call('typed.add')
      // @ts-expect-error: there is no `c`
      await board.server('typed').tools.add({ a: 1, c: 2 })
      // @ts-expect-error: the server has no such tool
      await board.server('typed').tools.nothing({})
      await board.call('typed.list')
      await board.call('any.tool', { whatever: true })
      const name: string = 'any.tool'
      await board.call(name, { whatever: true })
      const { structuredContent } = await board.server('typed').tools.add({ a: 1 })
      expectTypeOf(structuredContent).toEqualTypeOf<{ sum: number } | undefined>()
    }
    expect(uses).toBeTypeOf('function')
  })
})

describe('a call for a model', () => {
  it('never rejects for the mistakes of a model, a denial or a server that is away', async () => {
    await using board = await open({
      servers: { everything, gone: { command: join(top, 'no-such-program') } },
      rules: { deny: ['mcp__everything__echo'] },
    })
    const said = async (name: string, args?: unknown) => {
      const result = await board.callForModel(name, args)
      return [result.isError, text(result)] as const
    }
    expect(await said('everything.get-sum', { a: 1, b: 2 })).toEqual([false, expect.stringContaining('3')])
    expect(await said('everything.get-sum', '{"a": 1, "b": 2}')).toEqual([
      false,
      expect.stringContaining('3'),
    ])
    expect(await said('everything.get-sum', '{"a": ')).toEqual([true, expect.stringContaining('not JSON')])
    expect(await said('everything.get-sum', { a: 'x' })).toEqual([
      true,
      expect.stringContaining('b is required'),
    ])
    expect(await said('everything.get-sum', 7)).toEqual([true, expect.stringContaining('must be an object')])
    expect(await said('everything.get-sun', {})).toEqual([
      true,
      expect.stringContaining('everything.get-sum'),
    ])
    expect(await said('nowhere.tool', {})).toEqual([true, expect.stringContaining('no tool named')])
    expect(await said('everything.echo', { message: 'x' })).toEqual([true, expect.stringContaining('denied')])
    expect(await said('gone.tool', {})).toEqual([true, expect.any(String)])
    const decoded = await board.callForModel('everything.get-sum', { a: 1, b: 2 }, { decode: fromAnthropic })
    expect(decoded.isError).toBe(false)
    // The text is for a model: nothing in it is about commands or methods.
    for (const name of ['nowhere.tool', 'everything.get-sun', 'everything.echo'])
      expect((await said(name, {}))[1]).not.toMatch(/plugboard|board\./)
  })

  it('rejects when it was aborted', async () => {
    await using board = await open({ servers: { everything } })
    const error = await failure(
      board.callForModel('everything.get-sum', { a: 1, b: 2 }, { signal: AbortSignal.abort() }),
    )
    expect(error.code).toBe('CANCELLED')
  })
})

describe('rules of the program', () => {
  const host = () => ({
    ...systemHost(),
    home: top,
    env: { ...process.env, HOME: top, PLUGBOARD_MANAGED_DIR: join(top, 'managed') },
  })

  it('are added to those of the user and take back no deny', async () => {
    mkdirSync(join(top, '.plugboard'))
    writeFileSync(
      join(top, '.plugboard', 'settings.json'),
      JSON.stringify({ mcpServers: { everything }, permissions: { deny: ['mcp__everything__echo'] } }),
    )
    const rules = { allow: ['mcp__everything'], deny: ['mcp__everything__get-env'] }
    const project = join(top, 'project')
    mkdirSync(project)
    await using board = await openBoard({ host: host(), cwd: project, stateDir: join(top, 'state'), rules })
    expect((await board.call('everything.get-sum', { a: 1, b: 2 })).isError).toBe(false)
    expect(await failure(board.call('everything.echo', { message: 'x' }))).toBeInstanceOf(PermissionDenied)
    expect(await failure(board.call('everything.get-env'))).toBeInstanceOf(PermissionDenied)
  })

  it('that cannot be read are refused by their path', async () => {
    const error = await failure(open({ servers: {}, rules: { deny: ['files.*', ''] } }))
    expect(error.message).toContain('rules.deny[')
  })
})

describe('hints', () => {
  it('speak of the library, and keep the command for a shell', async () => {
    await using board = await openBoard({ servers: { everything }, stateDir: join(top, 'state') })
    const unknown = await failure(board.call('nowhere.tool'))
    expect(unknown.hint).toContain('`board.tools()`')
    expect(unknown.shellHint).toContain('`plugboard tools`')
    const wrong = await failure(board.call('everything.get-sum', { a: 'x' }))
    expect(wrong.hint).toContain(`board.toolsOf('everything')`)
    const denied = await failure(board.call('everything.get-sum', { a: 1, b: 2 }))
    expect(denied.hint).toContain('`ask`')
    expect(denied.toJSON().hint).not.toContain('plugboard ')
  })
})
