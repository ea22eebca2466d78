// The code search server under attack: a model that names secrets, a folder that is not a project, and
// other users of the machine. Everything runs as processes, as a user would start them.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'

const CORE = new URL('../../packages/core/dist/index.js', import.meta.url).href
const SECRET = 'hunter2secret'

let place: Place
beforeAll(() => {
  place = makePlace()
  place.write('.gitignore', 'dist/\n*.log\n')
  place.write('.env', `TOKEN=${SECRET}\n`)
  place.write('.ssh/id_rsa', SECRET)
  place.write('dist/out.js', `const token = '${SECRET}'\n`)
  place.write('debug.log', SECRET)
  place.write('certs/server.pem', SECRET)
  place.write('src/a.ts', 'export const open = 1\n')
  place.write('src/big.ts', Array.from({ length: 300 }, (_, n) => `export const open${n} = ${n}`).join('\n'))
  symlinkSync('../.env', join(place.project, 'src', 'notes.txt'))
  execFileSync('git', ['init', '-q'], { cwd: place.project })
})
afterAll(() => place.remove())

/** A user's program: its model makes these calls, and the user answers every question with `answer`. */
async function modelCalls(
  calls: readonly (readonly [tool: string, args: object])[],
  answer: 'once' | 'no' | 'no user',
): Promise<{ asked: string[]; texts: string[] }> {
  const script = `
    import { openBoard } from ${JSON.stringify(CORE)}
    const asked = []
    const texts = []
    const ask = async ({ reason }) => { asked.push(reason.text); return ${JSON.stringify(answer)} }
    const board = await openBoard({ cwd: ${JSON.stringify(place.project)}, ...(${answer !== 'no user'} && { ask }) })
    for (const [tool, args] of ${JSON.stringify(calls)}) {
      const said = await board.call('codebase.' + tool, args).then(
        ({ content }) => content.map(({ text }) => text).join('\\n'),
        (error) => error.code + ': ' + error.message,
      )
      texts.push(said)
    }
    await board.close()
    console.log(JSON.stringify({ asked, texts }))`
  const ran = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: place.project,
    env: { PATH: process.env['PATH'], HOME: place.home },
    encoding: 'utf8',
    timeout: 60_000,
  })
  expect(ran.status, ran.stderr).toBe(0)
  return JSON.parse(ran.stdout)
}

const SECRET_CALLS = [
  ['read_file', { file_path: '.env' }],
  ['read_file', { file_path: './src/../.env' }],
  ['read_file', { file_path: 'src/notes.txt' }],
  ['read_file', { file_path: '.ssh/id_rsa' }],
  ['read_file', { file_path: '.git/config' }],
  ['read_file', { file_path: 'dist/out.js' }],
  ['read_file', { file_path: 'certs/server.pem' }],
  ['chunk_file', { file_path: 'debug.log' }],
  ['chunk_files', { file_paths: ['src/a.ts', 'dist/out.js'] }],
  ['list_directory', { path: '.ssh' }],
  ['list_directory', { path: 'dist', depth: 3 }],
  ['search_code', { query: 'hunter', path: '.env' }],
  ['search_code', { query: 'hunter', path: 'dist' }],
  ['search_code', { query: 'hunter', path: 'certs/server.pem' }],
  ['search_by_embedding', { query: 'hunter', path: 'dist' }],
] as const

describe('a model that names secrets', () => {
  it('is not answered before the user is asked, and not at all when no user is there', async () => {
    const { asked, texts } = await modelCalls(SECRET_CALLS, 'no')
    expect(asked).toHaveLength(SECRET_CALLS.length)
    expect(texts.every((text) => text.startsWith('PERMISSION_DENIED'))).toBe(true)
    const alone = await modelCalls(SECRET_CALLS, 'no user')
    expect(alone.texts.every((text) => text.startsWith('PERMISSION_DENIED'))).toBe(true)
    expect(JSON.stringify([texts, alone])).not.toContain(SECRET)
  }, 120_000)

  it('is answered when the user agrees, and files that search shows need no question', async () => {
    const { asked, texts } = await modelCalls(
      [
        ['read_file', { file_path: '.env' }],
        ['read_file', { file_path: 'src/a.ts' }],
        ['list_directory', {}],
        ['search_code', { query: 'open', path: 'src', max_results: 2 }],
        ['chunk_files', { file_paths: ['src/a.ts'] }],
      ],
      'once',
    )
    expect(asked).toEqual(['".env" is hidden: a name on its way starts with a dot'])
    expect(texts[0]).toContain(SECRET)
    expect(texts.slice(1).every((text) => /open|src/.test(text))).toBe(true)
  }, 60_000)

  it('finds none by a search, whatever its glob', async () => {
    const globs = ['.env', '**/*', '.*/**', 'dist/**', '*.pem', '*.log']
    const { asked, texts } = await modelCalls(
      globs.map((glob) => ['search_code', { query: SECRET, glob }] as const),
      'no',
    )
    expect(asked).toEqual([])
    expect(texts).toEqual(globs.map(() => 'No match.'))
  }, 60_000)

  it('finds none by a search when an ignore file of the clone calls hidden files back', async () => {
    const hostile = makePlace()
    try {
      hostile.write('.gitignore', '!.git\n')
      hostile.write('.ignore', '!.ssh\n!.env\n!.aws\n')
      hostile.write('.rgignore', '!.git\n!.*\n')
      hostile.write('.git/config', `url = https://x:${SECRET}@example.com\n`)
      hostile.write('.aws/config', SECRET)
      hostile.write('.npmrc', `//registry/:_authToken=${SECRET}\n`)
      hostile.write('src/.cache/a.txt', SECRET)
      hostile.write('src/a.ts', 'export const open = 1\n')
      const calls = [
        ['search_code', 'query=hunter2'],
        ['search_code', 'query=hunter2', 'path=src'],
        ['search_code', 'query=hunter2', 'glob=.*'],
        ['search_by_embedding', 'query=hunter2secret'],
      ] as const
      for (const [tool, ...args] of calls) {
        const ran = await hostile.run('call', `codebase.${tool}`, ...args)
        expect(ran.stdout + ran.stderr, args.join(' ')).not.toMatch(
          /hunter2secret@|\.git\/|\.aws|\.npmrc|\.cache/,
        )
      }
      expect((await hostile.run('call', 'codebase.search_code', 'query=open')).stdout).toContain('src/a.ts')
    } finally {
      hostile.remove()
    }
  }, 60_000)

  it('finds none among the resources', async () => {
    for (const path of ['.env', 'dist/out.js', 'certs/server.pem', 'src/notes.txt', '%2Eenv']) {
      const ran = await place.run('read', 'codebase', `codebase://file/${path}`)
      expect(ran.code, path).not.toBe(0)
      expect(ran.stdout + ran.stderr).not.toContain(SECRET)
    }
    expect((await place.run('read', 'codebase', 'codebase://file/src/a.ts')).stdout).toContain('open')
  }, 60_000)
})

describe('a folder that is not a project', () => {
  it('is not served by the built-in: home, above it, and Plugboard’s own', async () => {
    mkdirSync(join(place.home, '.plugboard'), { recursive: true })
    for (const cwd of [place.home, join(place.home, '..'), join(place.home, '.plugboard'), '/']) {
      const { json } = await place.run('list', '--json', '--cwd', cwd)
      const codebase = json.servers.find(({ name }: { name: string }) => name === 'codebase')
      expect(codebase, cwd).toMatchObject({ state: 'disabled' })
      expect(JSON.stringify(codebase), cwd).toMatch(/home folder|keeps its own files/)
      const ran = await place.run('codebase', '--status', '--root', cwd)
      expect(ran, cwd).toMatchObject({ code: 2, stdout: '' })
      expect(ran.stderr).toMatch(/never searched/)
    }
  }, 60_000)
})

describe('a server that runs alone has no user to ask', () => {
  const call = (name: string, args: object) =>
    JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name, arguments: args } })
  const HELLO = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
  })

  it('so it refuses, unless it was started with --allow-ignored', async () => {
    for (const [name, args] of SECRET_CALLS.filter(([tool]) => tool !== 'chunk_files')) {
      const ran = await place.runPiped(`${HELLO}\n${call(name, args)}\n`, 'codebase', '--model', 'none')
      expect(ran.stdout, JSON.stringify(args)).toContain('PROTECTED')
      expect(ran.stdout).not.toContain(SECRET)
    }
    const open = await place.runPiped(
      `${HELLO}\n${call('read_file', { file_path: '.env' })}\n`,
      'codebase',
      '--allow-ignored',
      '--model',
      'none',
    )
    expect(open.stdout).toContain(SECRET)
  }, 120_000)
})

const isRoot = process.platform === 'linux' && process.geteuid?.() === 0

describe.skipIf(!isRoot)('another user of the machine', () => {
  const NOBODY = 65534
  const OTHER = 12345
  const children: ChildProcess[] = []
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
  })

  /** Starts the server as this user, and returns what it printed. */
  async function serve(uid: number, ...flags: string[]): Promise<{ url: string; token?: string }> {
    const home = join(place.home, `of-${uid}`)
    mkdirSync(home, { recursive: true })
    for (const folder of [join(place.home, '..'), place.home, place.project]) chmodSync(folder, 0o755)
    chmodSync(home, 0o777)
    const child = spawn(
      process.execPath,
      [COMMAND, 'codebase', '--http', '--port', '0', '--json', '--model', 'none', ...flags],
      { cwd: place.project, env: { PATH: process.env['PATH'], HOME: home }, uid, gid: uid },
    )
    children.push(child)
    let printed = ''
    for await (const line of createInterface({ input: child.stdout })) {
      printed += `${line}\n`
      if (line === '}' || (line.startsWith('{') && line.endsWith('}'))) break
    }
    return JSON.parse(printed)
  }

  const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'
  function curl(uid: number, url: string, ...more: string[]): { status: string; body: string } {
    const ran = spawnSync(
      'curl',
      ['-s', '-w', '\n%{http_code}', '-H', 'Content-Type: application/json', '-d', LIST, ...more, url],
      { uid, gid: uid, encoding: 'utf8', timeout: 20_000 },
    )
    const lines = ran.stdout.split('\n')
    return { status: lines.at(-1) ?? '', body: lines.slice(0, -1).join('\n') }
  }

  // Other users cannot run a checkout that they may not read.
  const readable =
    spawnSync(process.execPath, [COMMAND, '--version'], { uid: NOBODY, gid: NOBODY }).status === 0

  it('needs the token, on / and on /mcp; the same user and root do not', async () => {
    const server = readable ? NOBODY : 0
    const { url, token } = await serve(server)
    for (const path of ['/', '/mcp']) {
      const refused = curl(OTHER, `${url}${path}`)
      expect(refused.status, path).toBe('401')
      expect(refused.body).toMatch(/Authorization: Bearer TOKEN/)
    }
    expect(curl(OTHER, `${url}/`, '-H', `Authorization: Bearer ${token}`).body).toContain('search_code')
    expect(curl(OTHER, `${url}/`, '-H', 'Authorization: Bearer wrong-wrong-wrong').status).toBe('401')
    expect(curl(server, `${url}/`).body).toContain('search_code')
    expect(curl(0, `${url}/`).body).toContain('search_code')
    expect(curl(OTHER, `${url}/health`, '-X', 'GET').status).toBe('200')
    // Behind a proxy of the same user the caller may be any user.
    expect(curl(server, `${url}/`, '-H', 'X-Forwarded-For: 10.0.0.9').status).toBe('401')
  }, 60_000)

  it('needs it too over IPv6 and from an address that is not loopback', async () => {
    const { url, token } = await serve(0, '--host', '::', '--allow-host', 'box.example')
    const port = new URL(url).port
    for (const host of ['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]']) {
      const at = `http://${host}:${port}/`
      const name = ['-H', 'Host: localhost']
      expect(curl(OTHER, at, ...name).status, host).toBe('401')
      expect(curl(0, at, ...name).body, host).toContain('search_code')
    }
    const own = execFileSync('hostname', ['-I'], { encoding: 'utf8' }).trim().split(' ')[0]
    if (own) {
      const at = `http://${own.includes(':') ? `[${own}]` : own}:${port}/`
      expect(curl(0, at, '-H', 'Host: box.example').status).toBe('401')
      expect(curl(0, at, '-H', 'Host: evil.example').status).toBe('403')
      expect(
        curl(OTHER, at, '-H', 'Host: box.example', '-H', `Authorization: Bearer ${token}`).body,
      ).toContain('search_code')
    }
  }, 60_000)

  it('is served with a token of the file, or where no token is required', async () => {
    const file = place.write('~/tokens', '# mine\n0123456789abcdef0123 # laptop\n')
    const { url, token } = await serve(0, '--token-file', file)
    expect(token).toBeUndefined()
    expect(curl(OTHER, `${url}/`).status).toBe('401')
    expect(curl(OTHER, `${url}/`, '-H', 'Authorization: Bearer 0123456789abcdef0123').status).toBe('200')
    const open = await serve(0, '--no-auth')
    expect(curl(OTHER, `${open.url}/`).body).toContain('search_code')
  }, 60_000)
})
