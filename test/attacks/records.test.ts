// What a hostile folder could write, read or obtain: links, bundles, credentials, policy; and a loader that is
// given any tree at all.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadConfiguration } from '../../packages/core/src/config/load.ts'
import { crc32 } from '../../packages/core/src/config/plugins/crc32.ts'
import { InvalidInput } from '../../packages/core/src/errors.ts'
import { systemHost } from '../../packages/core/src/host.ts'
import { type Clone, makeClone } from './clone.ts'

let clone: Clone
beforeEach(() => {
  clone = makeClone()
})
afterEach(() => clone.place.remove())

describe('a link inside the project', () => {
  const TOKEN = 'Bearer MY-REAL-TOKEN'
  const add = (...more: string[]) =>
    clone.place.run('add', 'api', 'https://api.test/mcp', '-H', `Authorization: ${TOKEN}`, ...more)

  it.each([
    ['a tracked file', '.plugboard/settings.local.json', () => join(clone.place.project, 'tracked.json'), []],
    [
      'the user’s settings',
      '.plugboard/settings.local.json',
      () => join(clone.place.home, '.plugboard/settings.json'),
      [],
    ],
    ['another product’s file', '.mcp.json', () => join(clone.place.home, '.claude.json'), ['-s', 'project']],
  ])('to %s is not written through', async (_, link, target, more) => {
    const { place } = clone
    mkdirSync(dirname(target()), { recursive: true })
    writeFileSync(target(), '{}')
    mkdirSync(dirname(join(place.project, link)), { recursive: true })
    symlinkSync(target(), join(place.project, link))
    const added = await add(...more)
    expect(added.code).toBe(2)
    expect(added.stderr).toContain('symbolic link')
    expect(readFileSync(target(), 'utf8')).toBe('{}')
    expect(lstatSync(join(place.project, link)).isSymbolicLink()).toBe(true)
  })

  it('in place of our folder is not written through, for edits, switches and rules alike', async () => {
    const { place } = clone
    mkdirSync(join(place.project, 'tracked'))
    symlinkSync('tracked', join(place.project, '.plugboard'))
    place.write('~/.claude.json', { projects: { [place.project]: { mcpServers: { x: { command: 'x' } } } } })
    expect((await add()).stderr).toContain('symbolic link')
    expect((await place.run('disable', 'x')).stderr).toContain('symbolic link')
    expect(readdirSync(join(place.project, 'tracked'))).toEqual([])
  })

  it('in the home stays one: the user’s own settings may be linked', async () => {
    const { place } = clone
    const real = place.write('~/dotfiles/settings.json', {})
    mkdirSync(join(place.home, '.plugboard'))
    symlinkSync(real, join(place.home, '.plugboard/settings.json'))
    expect((await add('-s', 'user')).code).toBe(0)
    expect(readFileSync(real, 'utf8')).toContain(TOKEN)
  })

  it('is no reason to make a private file readable for others', async () => {
    const { place } = clone
    const file = place.write('.plugboard/settings.local.json', {})
    await add()
    expect(lstatSync(file).mode & 0o777).toBe(0o600)
  })
})

/** A zip whose entries are stored as they are. */
function zip(files: Readonly<Record<string, Buffer>>): Buffer {
  const bodies: Buffer[] = []
  const directory: Buffer[] = []
  let offset = 0
  for (const [name, data] of Object.entries(files)) {
    const head = Buffer.alloc(30)
    head.writeUInt32LE(0x04034b50, 0)
    head.writeUInt16LE(20, 4)
    head.writeUInt32LE(crc32(data), 14)
    head.writeUInt32LE(data.length, 18)
    head.writeUInt32LE(data.length, 22)
    head.writeUInt16LE(name.length, 26)
    const central = Buffer.alloc(46)
    central.writeUInt32LE(0x02014b50, 0)
    head.copy(central, 6, 4, 30)
    central.writeUInt32LE(offset, 42)
    bodies.push(head, Buffer.from(name), data)
    directory.push(central, Buffer.from(name))
    offset += 30 + name.length + data.length
  }
  const list = Buffer.concat(directory)
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(Object.keys(files).length, 8)
  end.writeUInt16LE(Object.keys(files).length, 10)
  end.writeUInt32LE(list.length, 12)
  end.writeUInt32LE(offset, 16)
  return Buffer.concat([...bodies, list, end])
}

describe('a bundle that the project brings', () => {
  const manifest = (name: string) =>
    Buffer.from(
      JSON.stringify({
        manifest_version: '0.2',
        name,
        version: '1.0.0',
        server: {
          type: 'node',
          entry_point: 'server.js',
          mcp_config: { command: 'node', args: ['${__dirname}/server.js'] },
        },
      }),
    )
  const cache = () => join(clone.place.home, '.plugboard/cache/bundles')
  const bring = (name: string) => {
    const script = Buffer.from(`require('node:child_process').execSync(${JSON.stringify(clone.mark(name))})`)
    const file = join(clone.place.project, `${name}.mcpb`)
    writeFileSync(file, zip({ 'manifest.json': manifest(name), 'server.js': script }))
  }

  it('is listed and shown, but not unpacked before it is approved, and then as it was approved', async () => {
    const { place } = clone
    bring('one')
    bring('two')
    place.write('.plugboard/settings.json', { plugins: ['one.mcpb', 'two.mcpb'] })
    for (const words of [['completion', 'servers'], ['list'], ['get', 'one'], ['doctor'], ['explain', 'two']])
      await place.run(...words)
    expect(existsSync(cache())).toBe(false)
    expect(clone.marks()).toEqual([])
    expect((await place.run('approve', 'one', '--json')).json.approved).toMatchObject([{ name: 'one' }])
    await place.run('list')
    expect(clone.marks()).toEqual(['one'])
    expect(readdirSync(cache())).toHaveLength(1)
    // Another archive in its place is another entry.
    renameOver(join(place.project, 'two.mcpb'), join(place.project, 'one.mcpb'))
    await place.run('list')
    expect(clone.marks()).toEqual(['one'])
  })

  it('is not read beyond the limits of number and size', async () => {
    const { place } = clone
    for (let n = 0; n < 70; n++) bring(`b${n}`)
    place.write('.plugboard/settings.json', { plugins: Array.from({ length: 70 }, (_, n) => `b${n}.mcpb`) })
    const { servers, diagnostics } = (await place.run('list', '--json', '--no-connect')).json
    expect(servers.filter(({ scope }: { scope: string }) => scope === 'plugin').length).toBeLessThanOrEqual(
      64,
    )
    expect(JSON.stringify(diagnostics)).toContain('more than 64 plugins')
    expect(existsSync(cache())).toBe(false)
  })

  function renameOver(from: string, to: string): void {
    writeFileSync(to, readFileSync(from))
  }
})

describe('credentials that are stored under a name', () => {
  it('go to no server of the project, even an approved one of that name', async () => {
    const { place } = clone
    const received: string[] = []
    const server = createServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () => {
        received.push(`${request.method} ${request.url} ${request.headers.authorization ?? ''} ${body}`)
        const path = new URL(request.url ?? '/', origin).pathname
        const json = (status: number, value: unknown, headers = {}) => {
          response.writeHead(status, { 'content-type': 'application/json', ...headers })
          response.end(JSON.stringify(value))
        }
        if (path.includes('oauth-protected-resource'))
          json(200, { resource: `${origin}/mcp`, authorization_servers: [origin] })
        else if (path.includes('well-known'))
          json(200, {
            issuer: origin,
            token_endpoint: `${origin}/token`,
            authorization_endpoint: `${origin}/authorize`,
            registration_endpoint: `${origin}/register`,
            response_types_supported: ['code'],
            code_challenge_methods_supported: ['S256'],
          })
        else if (path === '/token') json(200, { access_token: 'x', token_type: 'bearer' })
        else
          json(
            401,
            {},
            {
              'www-authenticate': `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource"`,
            },
          )
      })
    })
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      const machine = { clientId: 'nightly-report', clientSecretEnv: 'CRM_SECRET' }
      const env = {
        CRM_SECRET: 'THE-REAL-SECRET',
        PLUGBOARD_CLIENT_SECRET_CRM: 'THE-REAL-SECRET',
        MCP_CLIENT_SECRET: 'THE-REAL-SECRET',
        PLUGBOARD_VAULT: 'file',
      }
      const entry = { type: 'http', url: `${origin}/mcp`, oauth: { clientId: 'chosen' } }
      place.write('.mcp.json', { mcpServers: { crm: entry } })
      const connects = async (machines: object, ...words: string[]) => {
        place.write('~/.plugboard/settings.json', { logins: { machines: { crm: machines } } })
        received.length = 0
        // A refusal is remembered for a while, and then nothing is sent at all.
        rmSync(join(place.home, '.plugboard/state'), { recursive: true, force: true })
        const ran = await place.runWith(env, 'list', '--json', ...words)
        return { ran, sent: received.join('\n') }
      }
      for (const bound of [{}, { url: 'https://crm.example.com/' }, { url: origin }, { issuer: origin }]) {
        const { sent } = await connects({ ...machine, ...bound }, '--approve-project')
        expect(sent).toContain('/mcp')
        expect(sent).not.toContain('/token')
        expect(sent).not.toContain('THE-REAL-SECRET')
      }
      await place.run('approve')
      expect((await connects({ ...machine, url: origin })).sent).not.toContain('/token')
      // The user’s own entry of that name: only with a URL, and only at that URL.
      rmSync(join(place.project, '.mcp.json'))
      const own = async (bound: object) => {
        place.write('~/.claude.json', { mcpServers: { crm: entry } })
        return connects({ ...machine, ...bound })
      }
      const unbound = await own({})
      expect(unbound.sent).not.toContain('/token')
      expect(JSON.stringify(unbound.ran.json)).toContain('neither \\"url\\" nor \\"issuer\\"')
      expect((await own({ url: 'https://crm.example.com/' })).sent).not.toContain('/token')
      expect((await own({ url: origin })).sent).toContain('POST /token')
    } finally {
      server.close()
      server.closeAllConnections()
    }
  })
})

describe('the administrator’s policy', () => {
  let top: string
  beforeEach(() => {
    top = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-policy-')))
  })
  afterEach(() => rmSync(top, { recursive: true, force: true }))
  const write = (path: string, value: unknown) => {
    mkdirSync(dirname(join(top, path)), { recursive: true })
    writeFileSync(join(top, path), JSON.stringify(value))
  }

  it('is not removed by a variable, which can only add to it', async () => {
    // The system folder of another platform can be made here.
    const system = 'C:\\Program Files\\Plugboard'
    write(`${system}/managed-settings.json`, {
      allowManagedMcpServersOnly: true,
      allowedMcpServers: [{ serverName: 'ok' }],
      deniedMcpServers: [{ serverName: 'bad' }],
    })
    write('added/managed-settings.json', {
      allowedMcpServers: [{ serverName: 'more' }],
      deniedMcpServers: [{ serverName: 'ok2' }],
      permissions: { allow: ['mcp__x'], deny: ['mcp__y'] },
    })
    write('added/managed-mcp.json', { mcpServers: { smuggled: { command: 'x' } } })
    const names = ['ok', 'bad', 'more', 'ok2']
    write('home/.plugboard/settings.json', {
      mcpServers: Object.fromEntries(names.map((name) => [name, { command: name }])),
    })
    mkdirSync(join(top, 'p'))
    const before = process.cwd()
    process.chdir(top)
    try {
      const load = (folder: string) =>
        loadConfiguration({
          host: systemHost({
            platform: 'win32',
            home: join(top, 'home'),
            env: { PLUGBOARD_MANAGED_DIR: folder },
          }),
          cwd: join(top, 'p'),
          withoutBuiltins: true,
        })
      for (const folder of [join(top, 'empty'), join(top, 'added')]) {
        const { servers, rules } = await load(folder)
        expect(servers.filter(({ disabled }) => !disabled).map(({ name }) => name)).toEqual(['ok'])
        expect(servers.map(({ name }) => name)).not.toContain('smuggled')
        expect(rules.some(({ action }) => action === 'allow')).toBe(false)
      }
      expect((await load(join(top, 'added'))).rules).toMatchObject([{ action: 'deny', rule: 'mcp__y' }])
      rmSync(join(top, system), { recursive: true })
      expect((await load(join(top, 'added'))).servers.map(({ name }) => name)).toEqual(['smuggled'])
    } finally {
      process.chdir(before)
    }
  })
})

describe('the loader, for any folder content', () => {
  const leaf = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom('mcp__a', 'x.mcpb', '../p', '/bin/sh', '$(id)', '__proto__'),
  )
  const entry = fc.oneof(
    fc.record({ command: fc.string(), args: fc.array(fc.string(), { maxLength: 3 }) }),
    fc.record({ url: fc.webUrl(), headersHelper: fc.string() }),
    leaf,
  )
  const name = fc.constantFrom('a', 'b', 'codebase', '__proto__', 'a b', 'x__y')
  const settings = fc.record(
    {
      mcpServers: fc.oneof(fc.dictionary(name, entry), leaf),
      hooks: fc.oneof(fc.dictionary(fc.constantFrom('PreToolUse', 'x'), leaf), leaf),
      permissions: fc.oneof(
        fc.record({ allow: fc.array(fc.oneof(fc.constant('mcp__a'), leaf), { maxLength: 3 }) }),
        leaf,
      ),
      plugins: fc.oneof(
        fc.array(fc.oneof(fc.constantFrom('.', 'x.mcpb', '..', 'missing'), leaf), { maxLength: 3 }),
        leaf,
      ),
      allowedMcpServers: leaf,
      logins: leaf,
    },
    { requiredKeys: [] },
  )
  const text = fc.oneof(
    settings.map((value) => JSON.stringify(value)),
    fc.string(),
    fc.constantFrom('', '{', '[]', 'null', '\uFEFF{}', '{"mcpServers":'),
  )
  const FILES = [
    '.mcp.json',
    '.plugboard/settings.json',
    '.plugboard/settings.local.json',
    '.claude/settings.json',
    '.claude/settings.local.json',
    'plugin.json',
    'x.mcpb',
  ]
  const kind = fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('text' as const), text }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'folder' as const }) },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('link' as const),
        to: fc.constantFrom('../home/.plugboard/settings.json', '/dev/null', '.', 'nowhere'),
      }),
    },
    { weight: 2, arbitrary: fc.constant({ kind: 'none' as const }) },
  )
  const tree = fc.tuple(...FILES.map(() => kind))

  it('never throws, never starts anything, and trusts nothing of it without a record', async () => {
    const base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-fuzz-')))
    const spawned: string[] = []
    try {
      let count = 0
      await fc.assert(
        fc.asyncProperty(tree, async (parts) => {
          const top = join(base, String(count++))
          const project = join(top, 'p')
          mkdirSync(project, { recursive: true })
          mkdirSync(join(top, 'home'))
          for (const [index, part] of parts.entries()) {
            const file = join(project, FILES[index] ?? '')
            mkdirSync(dirname(file), { recursive: true })
            if (part.kind === 'text') writeFileSync(file, part.text)
            else if (part.kind === 'folder') mkdirSync(file)
            else if (part.kind === 'link') symlinkSync(part.to, file)
          }
          const host = systemHost({
            home: join(top, 'home'),
            env: { PATH: process.env['PATH'] },
            spawn: (command) => {
              spawned.push(command)
              throw new Error('spawned')
            },
          })
          try {
            const loaded = await loadConfiguration({ host, cwd: project, withoutBuiltins: true })
            for (const server of loaded.servers) {
              expect(server.disabled).toBeDefined()
              expect(server.author).toBe('repository')
            }
            expect(loaded.hooks).toEqual([])
            expect(loaded.rules.filter(({ action }) => action === 'allow')).toEqual([])
            expect(loaded.logins).toEqual({ machines: {} })
            expect(loaded.folder).toEqual({ trusted: false, asked: false })
          } catch (error) {
            if (!(error instanceof InvalidInput)) throw error
          }
          expect(existsSync(join(top, 'home', '.plugboard'))).toBe(false)
          expect(spawned).toEqual([])
          rmSync(top, { recursive: true, force: true })
        }),
        { numRuns: 300 },
      )
    } finally {
      rmSync(base, { recursive: true, force: true })
    }
  })
})
