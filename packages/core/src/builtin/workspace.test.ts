// The built-in `workspace` on a real board: what the user is asked and shown, what is written, run and undone, and what is
// refused whatever the user says.
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findSandbox } from '@plugboard/workspace'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openBoard } from '../board/open.ts'
import { systemHost } from '../host.ts'
import type { LocalBoard } from '../index.ts'
import { type PermissionQuestion, permissionQuestion } from '../permissions/index.ts'

let top: string
let board: LocalBoard | undefined
let questions: PermissionQuestion[]
/** What the user says to each question. */
let answer: 'once' | 'session' | 'no'
beforeEach(() => {
  top = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-workspace-test-')))
  for (const folder of ['home', 'project/.git/hooks', 'outside', 'managed'])
    mkdirSync(join(top, folder), { recursive: true })
  questions = []
  answer = 'once'
})
afterEach(async () => {
  await board?.close()
  board = undefined
  rmSync(top, { recursive: true, force: true })
})

const put = (path: string, text: string) => {
  mkdirSync(dirname(join(top, path)), { recursive: true })
  writeFileSync(join(top, path), text)
}
const get = (path: string) => readFileSync(join(top, path), 'utf8')

async function opened(onAsk?: () => void): Promise<LocalBoard> {
  const home = join(top, 'home')
  const env = {
    PATH: process.env['PATH'],
    HOME: home,
    PLUGBOARD_MANAGED_DIR: join(top, 'managed'),
    SECRET: 's3cret',
  }
  board = await openBoard({
    cwd: join(top, 'project'),
    host: systemHost({ env, home }),
    builtins: { workspace: true, codebase: false },
    ask: async (question) => {
      questions.push(question)
      onAsk?.()
      return answer
    },
  })
  return board
}

async function call(tool: string, args: Record<string, unknown> = {}) {
  board ??= await opened()
  const { content, isError, structuredContent: structured } = await board.call(`workspace.${tool}`, args)
  const text = content.map((block) => ('text' in block ? block.text : '')).join('\n')
  return { text, isError, structured }
}

const shown = (at = 0) => {
  const question = questions[at]
  if (!question) throw new Error('no question')
  return permissionQuestion(question)
    .full.map(({ text }) => text)
    .join('\n')
}

describe('edits', () => {
  it('shows the difference, writes after the yes, keeps mode and line ends, and undoes it', async () => {
    put('project/src/a.ts', 'one\r\ntwo\r\nthree\r\n')
    chmodSync(join(top, 'project/src/a.ts'), 0o755)
    const done = await call('edit_file', {
      file_path: 'src/a.ts',
      old_string: 'two\nthree',
      new_string: 'TWO\nthree',
    })
    expect(done).toMatchObject({ isError: false, text: 'changed src/a.ts.' })
    expect(get('project/src/a.ts')).toBe('one\r\nTWO\r\nthree\r\n')
    expect(statSync(join(top, 'project/src/a.ts')).mode & 0o777).toBe(0o755)
    expect(shown()).toContain('- two')
    expect(shown()).toContain('+ TWO')
    expect(shown()).not.toContain('old_string')
    expect(await call('undo_edit')).toMatchObject({ text: 'Undone: changed src/a.ts.' })
    expect(get('project/src/a.ts')).toBe('one\r\ntwo\r\nthree\r\n')
    expect(await call('undo_edit')).toMatchObject({
      isError: true,
      text: expect.stringContaining('NOTHING_TO_UNDO'),
    })
    expect(questions).toHaveLength(2)
  })

  it('asks about a hidden file, or one with credentials, whatever else was allowed for the session', async () => {
    answer = 'session'
    const write = (file_path: string) => call('write_file', { file_path, content: file_path })
    await write('a.ts')
    await write('b.ts')
    expect(questions).toHaveLength(1)
    for (const path of ['.github/workflows/ci.yml', '.env', 'deploy/prod.pem', 'src/.hidden/x'])
      await write(path)
    expect(questions.slice(1).map(({ reason }) => reason.text)).toEqual([
      'it changes .github/workflows/ci.yml, hidden or with credentials',
      'it changes .env, hidden or with credentials',
      'it changes deploy/prod.pem, hidden or with credentials',
      'it changes src/.hidden/x, hidden or with credentials',
    ])
    await call('apply_patch', {
      patch: '*** Begin Patch\n*** Add File: c.ts\n+c\n*** Add File: .npmrc\n+x\n*** End Patch',
    })
    expect(questions.at(-1)?.reason.text).toContain('.npmrc')
    await write('c2.ts')
    expect(questions).toHaveLength(6)
  })

  it('writes nothing after a no, and asks nothing for an edit that does not fit', async () => {
    put('project/a.txt', 'a\n')
    answer = 'no'
    await expect(call('write_file', { file_path: 'a.txt', content: 'b\n' })).rejects.toThrow(/said no/)
    expect(get('project/a.txt')).toBe('a\n')
    const failed = await call('edit_file', { file_path: 'a.txt', old_string: 'zzz', new_string: 'b' })
    expect(failed).toMatchObject({ isError: true, text: expect.stringContaining('NO_MATCH') })
    expect(questions).toHaveLength(1)
  })

  it('does not write what the user was not shown: the file changed during the question', async () => {
    put('project/a.txt', 'a\n')
    await opened(() => put('project/a.txt', 'a changed\n'))
    const done = await call('write_file', { file_path: 'a.txt', content: 'b\n' })
    expect(done).toMatchObject({ isError: true, text: expect.stringContaining('CHANGED') })
    expect(get('project/a.txt')).toBe('a changed\n')
  })

  it('applies a patch to several files, or to none, and undoes all of it', async () => {
    put('project/a.txt', 'a\n')
    put('project/old.txt', 'old\n')
    const patch = (update: string) =>
      `*** Begin Patch\n*** Update File: a.txt\n@@\n-${update}\n+A\n*** Add File: new/b.txt\n+b\n*** Delete File: old.txt\n*** End Patch`
    expect(await call('apply_patch', { patch: patch('zzz') })).toMatchObject({ isError: true })
    expect(existsSync(join(top, 'project/new'))).toBe(false)
    const done = await call('apply_patch', { patch: patch('a') })
    expect(done.structured).toEqual({
      files: [
        { path: 'a.txt', action: 'changed' },
        { path: 'new/b.txt', action: 'created' },
        { path: 'old.txt', action: 'removed' },
      ],
    })
    expect(shown()).toMatch(/"a\.txt" changes[\s\S]*"new\/b\.txt" new file[\s\S]*"old\.txt" is removed/)
    await call('undo_edit')
    expect([get('project/a.txt'), get('project/old.txt')]).toEqual(['a\n', 'old\n'])
    expect(existsSync(join(top, 'project/new/b.txt'))).toBe(false)
  })

  it('undoes an edit of an earlier session only when told, and not one that was changed since', async () => {
    await call('write_file', { file_path: 'a.txt', content: 'a\n' })
    await board?.close()
    board = undefined
    expect(await call('undo_edit')).toMatchObject({
      isError: true,
      text: expect.stringContaining('earlier: true'),
    })
    put('project/a.txt', 'mine\n')
    expect(await call('undo_edit', { earlier: true })).toMatchObject({
      isError: true,
      text: expect.stringContaining('CHANGED'),
    })
    put('project/a.txt', 'a\n')
    expect(await call('undo_edit', { earlier: true })).toMatchObject({ isError: false })
    expect(existsSync(join(top, 'project/a.txt'))).toBe(false)
    const journal = join(top, 'home/.plugboard/workspace')
    expect(statSync(join(journal, readdirSync(journal)[0] ?? '')).mode & 0o077).toBe(0)
  })

  it.each([
    ['a path above', '../outside/x', 'OUTSIDE_ROOT'],
    ['an absolute path', '/etc/x', 'OUTSIDE_ROOT'],
    ['a link to a folder outside', 'link/x', 'OUTSIDE_ROOT'],
    ['a link to a file outside', 'file-link', 'OUTSIDE_ROOT'],
    ['a link to nothing', 'dangling', 'OUTSIDE_ROOT'],
    ['below a link to nothing', 'dangling/x', 'OUTSIDE_ROOT'],
    ['a hook of git', '.git/hooks/pre-commit', 'PROTECTED'],
    ['another spelling of it', '.GIT/hooks/pre-commit', 'PROTECTED'],
    ['a link into git', 'git-link/pre-commit', 'PROTECTED'],
    ['a submodule', 'sub/.git', 'PROTECTED'],
    ['a folder', 'folder', 'IS_DIRECTORY'],
    ['below a file', 'file/x', 'NOT_A_DIRECTORY'],
    ['a binary file', 'binary', 'NOT_TEXT'],
    ['a NUL byte', 'a\0b', 'BAD_INPUT'],
  ])('refuses, whatever the rules say: %s', async (_, file_path, code) => {
    put('home/.plugboard/settings.json', JSON.stringify({ permissions: { allow: ['mcp__workspace'] } }))
    put('outside/file', 'keep')
    put('project/folder/x', 'x')
    put('project/file', 'x')
    put('project/binary', 'a\0b')
    const link = (target: string, name: string) => symlinkSync(target, join(top, 'project', name))
    link(join(top, 'outside'), 'link')
    link(join(top, 'outside/file'), 'file-link')
    link(join(top, 'outside/none'), 'dangling')
    link('.git/hooks', 'git-link')
    const done = await call('write_file', { file_path, content: 'x' })
    expect(done).toMatchObject({ isError: true, text: expect.stringContaining(`${code}:`) })
    expect(questions).toEqual([])
    expect(readdirSync(join(top, 'outside'))).toEqual(['file'])
    expect(get('outside/file')).toBe('keep')
    expect(readdirSync(join(top, 'project/.git/hooks'))).toEqual([])
  })
})

describe('permissions', () => {
  it('asks for every edit and command, and a rule of the user allows or denies', async () => {
    await call('todo', { items: [{ text: 'one' }] })
    expect(questions).toEqual([])
    await board?.close()
    board = undefined
    put(
      'home/.plugboard/settings.json',
      JSON.stringify({
        permissions: { allow: ['mcp__workspace__write_file'], deny: ['mcp__workspace__todo'] },
      }),
    )
    await call('write_file', { file_path: 'a.txt', content: 'a\n' })
    expect(questions).toEqual([])
    await expect(call('todo')).rejects.toThrow(/denied/)
  })

  it('is not switched on by a repository, and a user who is not there cannot be asked', async () => {
    put(
      'project/.plugboard/settings.json',
      JSON.stringify({ builtins: { workspace: true }, permissions: { allow: ['mcp__workspace'] } }),
    )
    const home = join(top, 'home')
    const host = systemHost({ env: { PATH: process.env['PATH'], HOME: home }, home })
    board = await openBoard({ cwd: join(top, 'project'), host })
    expect(board.servers().map(({ name }) => name)).not.toContain('workspace')
    await board.close()
    board = await openBoard({ cwd: join(top, 'project'), host, builtins: { workspace: true } })
    await expect(board.call('workspace.write_file', { file_path: 'a', content: 'a' })).rejects.toThrow(
      /no user/,
    )
  })
})

describe('commands', () => {
  const run = (command: string, ...args: string[]) => call('run_command', { command, args })
  const shell = (command: string, more = {}) => call('run_command', { command, shell: true, ...more })

  it('runs a program without a shell, with its exit code and no secrets of ours', async () => {
    expect(await run('printf', '%s', '$HOME; *')).toMatchObject({
      isError: false,
      text: '$HOME; *\n\nExit code 0.',
    })
    const env = await run('env')
    expect(env.text).not.toContain('s3cret')
    expect((await shell('echo a | tr a b; exit 3')).structured).toMatchObject({
      exit_code: 3,
      output: 'b\n',
      truncated: false,
    })
    expect(await run('npm test')).toMatchObject({ isError: true, text: expect.stringContaining('args') })
    expect(await run('no-such-program')).toMatchObject({ isError: true })
    expect(await call('run_command', { command: 'pwd', cwd: '../outside' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('OUTSIDE_ROOT'),
    })
  })

  it('shows the command and whether it is in a sandbox', async () => {
    await run('true')
    expect(shown()).toContain('command: "true"')
    expect(shown()).toMatch(/In a sandbox|NOT in a sandbox/)
  })

  it('bounds time and output, and ends everything that the command started', async () => {
    const slow = await shell('sleep 300 & echo $!; exec sleep 300', { timeout_ms: 500 })
    expect(slow.structured).toMatchObject({ timed_out: true })
    const big = await shell('head -c 300000 /dev/zero | tr "\\\\0" x')
    expect(big.structured).toMatchObject({ truncated: true })
    expect(big.text.length).toBeLessThan(40_000)
    const left = await shell(`(sleep 301; touch ${join(top, 'project/late')}) & echo started`)
    expect(left.structured).toMatchObject({ exit_code: 0, output: 'started\n' })
    const running = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' })
    expect(running).not.toContain(join(top, 'project/late'))
  })

  it('ends a command that is cancelled', async () => {
    const here = await opened()
    const abort = new AbortController()
    const started = join(top, 'project/started')
    const running = here.call(
      'workspace.run_command',
      { command: `touch started; sleep 302; echo ${top}`, shell: true },
      { signal: abort.signal },
    )
    running.catch(() => undefined)
    await expect.poll(() => existsSync(started), { timeout: 30_000 }).toBe(true)
    abort.abort()
    await expect(running).rejects.toThrow()
    await expect
      .poll(() => execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes(`echo ${top}`), {
        timeout: 30_000,
      })
      .toBe(false)
  })

  it('has the network only as a tool of its own, which is asked about by itself', async () => {
    const server = createServer((socket) => socket.end('hello from the network\n')).listen(0, '127.0.0.1')
    await once(server, 'listening')
    try {
      const { port } = server.address() as AddressInfo
      const reach = { command: `exec 3<>/dev/tcp/127.0.0.1/${port}; cat <&3`, timeout_ms: 20_000 }
      const line = { command: 'bash', args: ['-c', reach.command] }
      answer = 'session'
      await run('true')
      const online = await call('run_command_online', line)
      expect(questions.map(({ request }) => request.tool)).toEqual(['run_command', 'run_command_online'])
      expect(online.text).toContain('hello from the network')
      if ((await findSandbox()).kind === 'off') return
      expect(shown(1)).toContain('HAS network access')
      const offline = await call('run_command', line)
      expect(offline).toMatchObject({ isError: true, structured: { sandboxed: true } })
      expect(offline.text).not.toContain('hello')
      const write = await call('run_command_online', {
        command: `echo out > ${join(top, 'outside/file')}`,
        shell: true,
      })
      expect(write.isError).toBe(true)
      expect(readdirSync(join(top, 'outside'))).toEqual([])
    } finally {
      server.close()
    }
  })

  it('is confined by the sandbox: no write outside, no credentials, no network, no hooks', async () => {
    const sandbox = await findSandbox()
    // The tests install what it needs; a system without namespaces has none, and says so.
    if (sandbox.kind === 'off') {
      expect((await run('true')).text).toContain(`NOT in a sandbox (${sandbox.why})`)
      return
    }
    put('home/.ssh/id_rsa', 'KEY')
    put('home/.plugboard/vault', 'KEY')
    put('home/readable', 'fine')
    const { structured, text } = await shell(
      [
        'echo in > inside',
        `echo out > ${join(top, 'outside/file')}`,
        'echo hook > .git/hooks/pre-commit',
        'cat $HOME/.ssh/id_rsa $HOME/.plugboard/vault',
        'cat $HOME/readable',
        'echo t > $TMPDIR/t && echo temporary',
        'timeout 5 bash -c "echo > /dev/tcp/127.0.0.1/22" && echo NETWORK',
        'true',
      ].join('\n'),
    )
    expect(structured).toMatchObject({ exit_code: 0, sandboxed: true })
    expect(text).toContain('fine')
    expect(text).toContain('temporary')
    expect(text).not.toMatch(/KEY|NETWORK/)
    expect(get('project/inside')).toBe('in\n')
    expect(readdirSync(join(top, 'outside'))).toEqual([])
    expect(readdirSync(join(top, 'project/.git/hooks'))).toEqual([])
    expect(readdirSync(join(top, 'project')).sort()).toEqual(['.git', 'inside'])
  })
})
