// A running `plugboard serve` or `chat` whose configuration files break, vanish and come back: no process ends, no server
// is started again, stderr says what is wrong and when it is good again. As users run it, in processes of their own.
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ModelServer, modelServer } from '../../packages/agent/src/fixtures/model-server.mjs'
import { COMMAND, makePlace, type Place } from '../support/cli.ts'

const SERVER = fileURLToPath(new URL('../support/pid-server.mjs', import.meta.url))
const settled = { timeout: 20_000, interval: 50 }

let place: Place
const ends: (() => unknown)[] = []
beforeEach(() => {
  place = makePlace()
})
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
  place.remove()
})

const pidsFile = () => join(place.home, 'pids')
const started = () =>
  existsSync(pidsFile()) ? readFileSync(pidsFile(), 'utf8').trim().split('\n').sort() : []
const startedOf = (name: string) => started().filter((line) => line.startsWith(`${name} `))
const entry = (name: string, more: object = {}) => ({
  command: process.execPath,
  args: [SERVER],
  env: { NAME: name, PIDS: pidsFile() },
  ...more,
})
const servers = (...names: string[]) => ({
  mcpServers: Object.fromEntries(names.map((name) => [name, entry(name)])),
})
const environment = () => ({
  PATH: process.env['PATH'] ?? '',
  HOME: place.home,
  PLUGBOARD_MANAGED_DIR: join(dirname(place.home), 'managed'),
})

interface Running {
  readonly child: ChildProcess
  readonly url: string
  stderr(): string
  /** The lines of stderr since the last call. */
  news(): string
}

const serve = (...words: string[]) => serveWith({}, ...words)

/** Takes from root what lets it read every file; other users have no such privilege. */
const BOUND = ['--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-dac_override,-dac_read_search']

interface ServeOptions {
  readonly env?: Readonly<Record<string, string>>
  /** File permissions bind the process, also where the tests run as root. */
  readonly bound?: boolean
}

async function serveWith({ env, bound = false }: ServeOptions, ...words: string[]): Promise<Running> {
  const line = [process.execPath, COMMAND, 'serve', '--http', '--no-auth', '--port', '0', '--json', ...words]
  const [program = '', ...args] = bound && process.getuid?.() === 0 ? ['setpriv', ...BOUND, ...line] : line
  const child = spawn(program, args, {
    cwd: place.project,
    env: { ...environment(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  ends.push(async () => {
    if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'exit')
  })
  let stderr = ''
  let heard = 0
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  let said = ''
  for await (const chunk of child.stdout) {
    said += String(chunk)
    if (said.trimEnd().endsWith('}')) break
  }
  const news = () => {
    const text = stderr.slice(heard)
    heard = stderr.length
    return text
  }
  return { child, url: JSON.parse(said).url, stderr: () => stderr, news }
}

async function statusOf(
  url: string,
): Promise<{ servers: { name: string }[]; configuration?: { file: string }[] }> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL(url)))
  try {
    const { contents } = await client.readResource({ uri: 'plugboard://status' })
    return JSON.parse((contents[0] as { text: string }).text)
  } finally {
    await client.close()
  }
}

const DAMAGE: Readonly<Record<string, (file: string) => void>> = {
  'half-written': (file) => writeFileSync(file, '{'),
  emptied: (file) => writeFileSync(file, ''),
  deleted: (file) => rmSync(file),
  'replaced by a folder': (file) => {
    rmSync(file)
    mkdirSync(file)
  },
  'no object': (file) => writeFileSync(file, '[]'),
}

describe('a configuration file of a running serve', () => {
  const WATCHED: Readonly<Record<string, () => string>> = {
    '--mcp-config': () => join(place.home, 'given.json'),
    'user settings': () => join(place.home, '.plugboard/settings.json'),
    '~/.claude.json': () => join(place.home, '.claude.json'),
    '.mcp.json': () => join(place.project, '.mcp.json'),
    'project settings': () => join(place.project, '.plugboard/settings.json'),
    'plugin manifest': () => join(place.home, 'plug/.claude-plugin/plugin.json'),
    "the plugin's .mcp.json": () => join(place.home, 'plug/.mcp.json'),
    'approvals.json': () => join(place.home, '.plugboard/approvals.json'),
  }

  it('keeps its last good content, whatever happens to it', async () => {
    const given = place.write('~/given.json', servers('given'))
    place.write('~/.plugboard/settings.json', {
      ...servers('user'),
      disabledServers: ['codebase'],
      plugins: [join(place.home, 'plug')],
    })
    place.write('~/.claude.json', { other: { product: true }, ...servers('claude') })
    place.write('.mcp.json', servers('shared'))
    place.write('.plugboard/settings.json', servers('project'))
    place.write('~/plug/.claude-plugin/plugin.json', { name: 'plug', ...servers('manifest') })
    place.write('~/plug/.mcp.json', servers('plugged'))
    for (const name of ['shared', 'project']) expect((await place.run('approve', name)).code).toBe(0)
    const running = await serve('--mcp-config', given)
    await expect.poll(() => started().length, settled).toBe(7)
    const before = started()

    for (const [what, fileOf] of Object.entries(WATCHED))
      for (const [how, damage] of Object.entries(DAMAGE)) {
        const file = fileOf()
        const name = file.slice(place.home.length).split('/').pop() ?? ''
        const sound = readFileSync(file, 'utf8')
        running.news()
        damage(file)
        let heard = ''
        const hears = async (text: RegExp) =>
          await expect
            .poll(
              () => {
                heard += running.news()
                return heard
              },
              { ...settled, message: `${what}, ${how}` },
            )
            .toMatch(text)
        await hears(new RegExp(`error [^\\n]*${name.replaceAll('.', '\\.')}`))
        heard = ''
        rmSync(file, { recursive: true, force: true })
        writeFileSync(file, sound)
        await hears(/is good again/)
        expect(running.child.exitCode, `${what}, ${how}`).toBeNull()
        expect(started(), `${what}, ${how}`).toEqual(before)
      }
  }, 300_000)

  it('is reported in plugboard://status and by `list` until it is repaired', async () => {
    const file = place.write('~/.plugboard/settings.json', {
      ...servers('user'),
      disabledServers: ['codebase'],
    })
    const sound = readFileSync(file, 'utf8')
    const running = await serve()
    await expect.poll(() => started().length, settled).toBe(1)
    expect((await statusOf(running.url)).configuration).toBeUndefined()
    writeFileSync(file, '{ "mcpServers": {')
    await expect
      .poll(async () => (await statusOf(running.url)).configuration?.map((fault) => fault.file), settled)
      .toContain(file)
    expect((await statusOf(running.url)).servers.map(({ name }) => name)).toContain('user')
    const listed = await place.run('list')
    expect(listed.stderr).toContain('settings.json:1')
    expect((await place.run('list', '--json')).json.diagnostics[0]).toMatchObject({ severity: 'error', file })
    writeFileSync(file, sound)
    await expect.poll(async () => (await statusOf(running.url)).configuration, settled).toBeUndefined()
    expect(started()).toHaveLength(1)
  }, 120_000)

  it('does not delay changes of the others, and counts again once it is repaired', async () => {
    const broken = place.write('~/.claude.json', servers('claude'))
    const other = place.write('~/.plugboard/settings.json', {
      ...servers('user'),
      disabledServers: ['codebase'],
    })
    const running = await serve()
    await expect.poll(() => started().length, settled).toBe(2)
    writeFileSync(broken, '{')
    await expect.poll(running.stderr, settled).toContain('.claude.json')
    writeFileSync(other, JSON.stringify({ ...servers('fresh'), disabledServers: ['codebase'] }))
    await expect.poll(() => startedOf('fresh').length, settled).toBe(1)
    expect(startedOf('claude')).toHaveLength(1)
    writeFileSync(broken, JSON.stringify(servers('claude', 'later')))
    await expect.poll(() => startedOf('later').length, settled).toBe(1)
    expect(startedOf('claude')).toHaveLength(1)
    // What the user removes by editing is gone.
    writeFileSync(broken, '{}')
    await expect.poll(running.stderr, settled).toMatch(/removed claude, later|removed later, claude/)
    expect(running.child.exitCode).toBeNull()
  }, 120_000)

  it('keeps the last good version of a single broken entry, with the others beside it', async () => {
    const file = place.write('~/.plugboard/settings.json', {
      ...servers('user'),
      disabledServers: ['codebase'],
    })
    const running = await serve()
    await expect.poll(() => started().length, settled).toBe(1)
    const wrong = { ...entry('user'), args: 'not a list' }
    const text = { mcpServers: { user: wrong, fresh: entry('fresh') }, disabledServers: ['codebase'] }
    writeFileSync(file, JSON.stringify(text))
    await expect.poll(() => startedOf('fresh').length, settled).toBe(1)
    expect(running.stderr()).toContain('mcpServers.user.args')
    expect(running.stderr()).not.toContain('removed')
    expect((await statusOf(running.url)).servers.map(({ name }) => name).sort()).toEqual([
      'codebase',
      'fresh',
      'user',
    ])
    expect(startedOf('user')).toHaveLength(1)
  }, 120_000)

  it('may be unreadable for a while', async () => {
    const file = place.write('~/.plugboard/settings.json', {
      ...servers('user'),
      disabledServers: ['codebase'],
    })
    const running = await serveWith({ bound: true })
    await expect.poll(() => started().length, settled).toBe(1)
    chmodSync(file, 0)
    await expect.poll(running.stderr, settled).toContain('permission denied')
    chmodSync(file, 0o600)
    await expect.poll(running.stderr, settled).toContain('is good again')
    expect(started()).toHaveLength(1)
  }, 120_000)
})

it('follows a mounted volume whose files are swapped by renaming a link', async () => {
  const volume = join(place.home, 'volume')
  const release = (name: string, server: string) => {
    mkdirSync(join(volume, name), { recursive: true })
    writeFileSync(join(volume, name, 'servers.json'), JSON.stringify(servers(server)))
    symlinkSync(name, join(volume, '..data_tmp'))
    renameSync(join(volume, '..data_tmp'), join(volume, '..data'))
  }
  release('..1', 'one')
  symlinkSync(join('..data', 'servers.json'), join(volume, 'servers.json'))
  const running = await serve('--strict-mcp-config', '--mcp-config', join(volume, 'servers.json'))
  await expect.poll(() => startedOf('one').length, settled).toBe(1)
  release('..2', 'two')
  await expect.poll(() => startedOf('two').length, settled).toBe(1)
  expect(running.stderr()).toContain('added two; removed one')
}, 120_000)

it('follows the target of a linked file, and a folder that is replaced as a whole', async () => {
  const target = place.write('~/dotfiles/servers.json', servers('one'))
  const link = join(place.home, 'link.json')
  symlinkSync(target, link)
  await serve('--strict-mcp-config', '--mcp-config', link)
  await expect.poll(() => startedOf('one').length, settled).toBe(1)
  writeFileSync(target, JSON.stringify(servers('one', 'two')))
  await expect.poll(() => startedOf('two').length, settled).toBe(1)
  place.write('~/dotfiles.new/servers.json', servers('one', 'three'))
  renameSync(join(place.home, 'dotfiles'), join(place.home, 'dotfiles.old'))
  renameSync(join(place.home, 'dotfiles.new'), join(place.home, 'dotfiles'))
  await expect.poll(() => startedOf('three').length, settled).toBe(1)
  expect(startedOf('one')).toHaveLength(1)
}, 120_000)

it('notices changes where the system has no file watches left', async () => {
  const without = place.write(
    '~/no-watches.cjs',
    "require('node:fs').watch = () => { throw Object.assign(new Error('no watches left'), { code: 'ENOSPC' }) }",
  )
  const file = place.write('~/given.json', servers('one'))
  const running = await serveWith(
    { env: { NODE_OPTIONS: `--require ${without}` } },
    '--strict-mcp-config',
    '--mcp-config',
    file,
  )
  await expect.poll(() => startedOf('one').length, settled).toBe(1)
  writeFileSync(file, '{')
  await expect.poll(running.stderr, settled).toContain('given.json')
  writeFileSync(file, JSON.stringify(servers('one', 'two')))
  await expect.poll(() => startedOf('two').length, settled).toBe(1)
  expect(running.stderr()).toContain('is good again')
  expect(startedOf('one')).toHaveLength(1)
}, 120_000)

it('watches a plugin that is switched on while it runs', async () => {
  const settings = place.write('~/.plugboard/settings.json', { disabledServers: ['codebase'] })
  await serve()
  const manifest = place.write('~/plug/.mcp.json', servers('plugged'))
  writeFileSync(
    settings,
    JSON.stringify({ disabledServers: ['codebase'], plugins: [join(place.home, 'plug')] }),
  )
  await expect.poll(() => startedOf('plugged').length, settled).toBe(1)
  writeFileSync(manifest, JSON.stringify(servers('plugged', 'more')))
  await expect.poll(() => startedOf('more').length, settled).toBe(1)
  expect(startedOf('plugged')).toHaveLength(1)
}, 120_000)

it('never serves itself, also not after a file changed', async () => {
  const port = 20_000 + (process.pid % 20_000)
  const settings = { mcpServers: { self: { type: 'http', url: `http://127.0.0.1:${port}/mcp` } } }
  const file = place.write('~/.plugboard/settings.json', { ...settings, disabledServers: ['codebase'] })
  const running = await serve('--port', String(port))
  const both = { mcpServers: { ...settings.mcpServers, ...servers('fresh').mcpServers } }
  writeFileSync(file, JSON.stringify({ ...both, disabledServers: ['codebase'] }))
  await expect.poll(() => startedOf('fresh').length, settled).toBe(1)
  const { servers: shown } = await statusOf(running.url)
  expect(shown.find(({ name }) => name === 'self')).toMatchObject({ state: 'disabled' })
}, 120_000)

it('prints a warning about a hook once', async () => {
  place.write('~/.plugboard/settings.json', { ...servers('user'), hooks: { PreToolUse: [{ hooks: [] }] } })
  const { stderr, code } = await place.run('call', 'user.whoami')
  expect(code).toBe(0)
  expect(stderr.split('\n').filter((line) => line.includes('hooks.PreToolUse'))).toHaveLength(1)
}, 60_000)

describe.skipIf(spawnSync('tmux', ['-V']).status !== 0)('a chat at a terminal', () => {
  const socket = `plugboard-reload-${process.pid}`
  let model: ModelServer
  const tmux = (...args: string[]) =>
    spawnSync('tmux', ['-L', socket, ...args], { encoding: 'utf8' }).stdout ?? ''
  const screen = () => tmux('capture-pane', '-p', '-t', 'chat')
  const shows = (text: string | RegExp) => expect.poll(screen, settled).toMatch(text)
  const say = (text: string) => {
    tmux('send-keys', '-t', 'chat', '-l', text)
    tmux('send-keys', '-t', 'chat', 'Enter')
  }

  it('keeps its command-line options when a file changes, and prints faults above the line being typed', async () => {
    model = await modelServer(() => ({ text: 'hello' }))
    ends.push(() => model.close())
    ends.push(() => tmux('kill-server'))
    const given = place.write('~/given.json', servers('given'))
    const other = place.write('~/.plugboard/settings.json', {
      ...servers('user'),
      disabledServers: ['codebase'],
    })
    mkdirSync(join(place.project, 'inner', '.git'), { recursive: true })
    place.write('inner/.mcp.json', servers('project'))
    const vars = { ...environment(), ANTHROPIC_API_KEY: 'k', ANTHROPIC_BASE_URL: model.url, LANG: 'C.UTF-8' }
    const command = [
      'env -i TERM=screen',
      ...Object.entries(vars).map(([name, value]) => `${name}='${value}'`),
      `'${process.execPath}' '${COMMAND}' chat --cwd inner --approve-project --mcp-config '${given}'`,
      '; echo LEFT $?; sleep 60',
    ].join(' ')
    const size = ['-x', '160', '-y', '60', '-c', place.project]
    execFileSync('tmux', [
      '-L',
      socket,
      '-f',
      '/dev/null',
      'new-session',
      '-d',
      '-s',
      'chat',
      ...size,
      command,
    ])
    await shows('/help lists the commands')
    say('/mcp')
    await shows(/✔ given[\s\S]*✔ project[\s\S]*✔ user/)
    const before = started()
    expect(before).toHaveLength(3)

    tmux('send-keys', '-t', 'chat', '-l', 'half a sentence')
    writeFileSync(other, '{')
    await shows(/error ~\/\.plugboard\/settings\.json[\s\S]*› half a sentence/)
    writeFileSync(other, JSON.stringify({ ...servers('user', 'fresh'), disabledServers: ['codebase'] }))
    await shows(/is good again[\s\S]*› half a sentence/)
    await expect.poll(() => startedOf('fresh').length, settled).toBe(1)
    expect(started().filter((line) => !line.startsWith('fresh'))).toEqual(before)
    tmux('send-keys', '-t', 'chat', 'C-u')
    tmux('send-keys', '-t', 'chat', 'C-d')
    await shows('LEFT 0')
  }, 120_000)
})
