// add, remove, enable, disable, approve on real files, also from two processes at once.
import {
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
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { InvalidInput, IoError, PermissionDenied, ServerNotFound } from '../errors.ts'
import { bundleScript, start } from '../files/fixtures/processes.ts'
import { type Host, systemHost } from '../host.ts'
import { type LoadOptions, loadConfiguration } from './load.ts'
import { addServer, approve, removeServer, resetProjectChoices, setEnabled } from './manage.ts'
import { pendingApprovals } from './resolve.ts'
import { SETTINGS_SCHEMA_URL, type WritableScope } from './sources.ts'

let base: string
let host: Host
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-manage-')))
  for (const folder of ['home', 'p']) mkdirSync(join(base, folder))
  host = systemHost({ env: { HOME: at('home'), PLUGBOARD_MANAGED_DIR: at('managed') } })
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const at = (path: string) => join(base, path)
const text = (path: string) => readFileSync(at(path), 'utf8')
function put(path: string, data: unknown): void {
  mkdirSync(dirname(at(path)), { recursive: true })
  writeFileSync(at(path), typeof data === 'string' ? data : JSON.stringify(data))
}
const load = (more: Partial<LoadOptions> = {}) =>
  loadConfiguration({ host, cwd: at('p'), withoutBuiltins: true, ...more })
const add = async (
  name: string,
  scope: WritableScope,
  written: unknown = { command: name },
  replace = false,
) => addServer(await load(), host, { name, written, scope, replace })
const states = async () =>
  (await load()).servers.map(
    ({ name, scope, disabled }) => `${name} ${scope}${disabled ? ` (${disabled.text})` : ''}`,
  )
const LOCAL = 'p/.plugboard/settings.local.json'
const USER = 'home/.plugboard/settings.json'

describe('adding', () => {
  it('writes the file of the scope, and what the user added to a project is approved', async () => {
    expect(await add('l', 'local')).toEqual({ name: 'l', file: at(LOCAL), scope: 'local', outcome: 'added' })
    await add('p', 'project')
    await add('u', 'user')
    expect(await states()).toEqual(['l local', 'p project', 'u user'])
    expect(JSON.parse(text('p/.mcp.json'))).toEqual({ mcpServers: { p: { command: 'p' } } })
    expect(JSON.parse(text(USER))).toEqual({
      $schema: SETTINGS_SCHEMA_URL,
      mcpServers: { u: { command: 'u' } },
    })
    expect(text('p/.plugboard/.gitignore')).toBe('settings.local.json\n')
    expect([LOCAL, USER, 'p/.mcp.json'].map((file) => statSync(at(file)).mode & 0o777)).toEqual([
      0o600, 0o600, 0o644,
    ])
  })

  it('leaves no lock and no draft behind', async () => {
    await add('a', 'project')
    expect(readdirSync(at('p'))).toEqual(['.mcp.json'])
  })

  it('keeps a flat .mcp.json flat, with its comments', async () => {
    put('p/.mcp.json', '{\n  // ours\n  "a": { "command": "a" } // first\n}\n')
    await add('b', 'project')
    expect(text('p/.mcp.json')).toBe(
      '{\n  // ours\n  "a": { "command": "a" }, // first\n  "b": {\n    "command": "b"\n  }\n}\n',
    )
    expect(await states()).toEqual(['a project (pending approval)', 'b project'])
  })

  it('approves only the entry that it wrote', async () => {
    put('p/.mcp.json', { mcpServers: { theirs: { command: 'evil' } } })
    await add('mine', 'project')
    expect(await states()).toEqual(['mine project', 'theirs project (pending approval)'])
  })

  it('refuses a name that is taken, replaces it when told, and says when nothing changed', async () => {
    await add('a', 'user')
    await expect(add('a', 'user', { command: 'b' })).rejects.toThrow(InvalidInput)
    expect((await load()).servers[0]?.entry).toMatchObject({ command: 'a' })
    expect(await add('a', 'user', { command: 'b' }, true)).toMatchObject({ outcome: 'replaced' })
    expect(await add('a', 'user', { command: 'b' }, true)).toMatchObject({ outcome: 'unchanged' })
    expect((await load()).servers[0]?.entry).toMatchObject({ command: 'b' })
  })

  it.each<[string, string, unknown]>([
    ['a reserved name', 'codebase', { command: 'x' }],
    ['a bad name', 'a/b', { command: 'x' }],
    ['__proto__', '__proto__', { command: 'x' }],
    ['a bad entry', 'a', { command: 1 }],
    ['no entry', 'a', null],
    ['an sdk entry under a reserved name', 'codebase', { type: 'sdk' }],
  ])('refuses %s and writes nothing', async (_, name, written) => {
    await expect(add(name, 'user', written)).rejects.toThrow(InvalidInput)
    expect(existsSync(at(USER))).toBe(false)
  })

  it('refuses to touch a broken file, naming the line', async () => {
    put(USER, '{\n  "mcpServers": {,}\n}')
    await expect(add('a', 'user')).rejects.toThrow(/settings\.json:2: /)
    expect(text(USER)).toBe('{\n  "mcpServers": {,}\n}')
  })

  it('refuses a file that is not UTF-8', async () => {
    put(USER, '')
    writeFileSync(at(USER), Buffer.from('\uFEFF{}', 'utf16le'))
    await expect(add('a', 'user')).rejects.toThrow(/not UTF-8/)
  })

  it('says why a file cannot be written', async () => {
    put('p/.plugboard', 'a file')
    await expect(add('a', 'local')).rejects.toThrow(IoError)
    symlinkSync('.mcp.json', at('p/.mcp.json'))
    await expect(add('a', 'project')).rejects.toThrow(InvalidInput)
  })

  it('writes through a linked settings file', async () => {
    put('dotfiles/settings.json', '{}')
    mkdirSync(at('home/.plugboard'))
    symlinkSync(at('dotfiles/settings.json'), at(USER))
    await add('a', 'user')
    expect(JSON.parse(text('dotfiles/settings.json'))).toMatchObject({ mcpServers: { a: {} } })
  })

  it('is refused where an administrator’s file is exclusive', async () => {
    put('managed/managed-mcp.json', {})
    await expect(add('a', 'user')).rejects.toThrow(PermissionDenied)
  })

  it('never touches another product’s files', async () => {
    const files = [
      'home/.claude.json',
      'home/.claude/settings.json',
      'p/.claude/settings.json',
      'p/.claude/settings.local.json',
    ]
    for (const [index, file] of files.entries())
      put(file, `{ "mcpServers": { "c${index}": { "command": "x" } } }  // as it is`)
    const before = files.map(text)
    await add('a', 'user')
    await add('b', 'local')
    await setEnabled(await load(), host, 'c1', false)
    await setEnabled(await load(), host, 'c1', true)
    await expect(removeServer(await load(), 'c1')).rejects.toThrow(/does not edit/)
    expect(files.map(text)).toEqual(before)
  })
})

describe('removing', () => {
  it('takes the entry out and keeps the rest of the file', async () => {
    put(
      USER,
      '{\n  // keep\n  "mcpServers": {\n    "a": { "command": "a" }, // about a\n    "b": { "command": "b" }\n  }\n}\n',
    )
    expect(await removeServer(await load(), 'a')).toEqual({ files: [at(USER)] })
    expect(text(USER)).toContain('// keep')
    expect(text(USER)).toContain('    "b": { "command": "b" }\n  }\n}\n')
    expect(await states()).toEqual(['b user'])
  })

  it('also removes an entry that is not valid', async () => {
    put(USER, { mcpServers: { a: { command: 1 } } })
    await removeServer(await load(), 'a')
    expect(JSON.parse(text(USER))).toEqual({ mcpServers: {} })
  })

  it('asks which, when several scopes have it', async () => {
    await add('a', 'user')
    await add('a', 'local')
    await expect(removeServer(await load(), 'a')).rejects.toThrow(/several scopes/)
    await expect(removeServer(await load(), 'a', 'project')).rejects.toThrow(
      /not defined in the project scope/,
    )
    await removeServer(await load(), 'a', 'local')
    expect(await states()).toEqual(['a user'])
  })

  it('does not know a name that no file has', async () => {
    await expect(load().then((loaded) => removeServer(loaded, 'nope'))).rejects.toThrow(ServerNotFound)
  })

  it('does not edit what a flag named, be it a file or JSON', async () => {
    put('p/given.json', { mcpServers: { a: { command: 'x' } } })
    for (const word of ['given.json', '{"a": {"command": "x"}}']) {
      const loaded = await load({ mcpConfig: [word] })
      await expect(removeServer(loaded, 'a')).rejects.toThrow(/does not edit/)
    }
    expect(JSON.parse(text('p/given.json'))).toEqual({ mcpServers: { a: { command: 'x' } } })
  })
})

describe('switching off and on', () => {
  it.each<[WritableScope, string]>([
    ['user', USER],
    ['project', LOCAL],
    ['local', LOCAL],
  ])('a server of scope %s is a list in %s, and its entry stays as it was', async (scope, file) => {
    await add('a', scope)
    expect(await setEnabled(await load(), host, 'a', false)).toEqual({ changed: [at(file)] })
    expect(await states()).toEqual([`a ${scope} (switched off in ${at(file)})`])
    expect(await setEnabled(await load(), host, 'a', false)).toEqual({ changed: [] })
    expect(await setEnabled(await load(), host, 'a', true)).toEqual({ changed: [at(file)] })
    expect(await states()).toEqual([`a ${scope}`])
  })

  it('on clears the flag of an entry, and an approved entry stays approved', async () => {
    await add('a', 'project', { command: 'x', disabled: true })
    expect(await states()).toEqual(['a project (disabled in its entry)'])
    await setEnabled(await load(), host, 'a', true)
    expect(await states()).toEqual(['a project'])
    expect(JSON.parse(text('p/.mcp.json'))).toEqual({ mcpServers: { a: { command: 'x' } } })
  })

  it('on does not approve what the user has not approved', async () => {
    put('p/.mcp.json', { mcpServers: { a: { command: 'x', disabled: true } } })
    await setEnabled(await load(), host, 'a', true)
    expect(await states()).toEqual(['a project (pending approval)'])
  })

  it.each([
    ['p/.plugboard/settings.json', { disabledServers: ['a'] }],
    ['home/.claude/settings.json', { disabledMcpjsonServers: ['a'] }],
  ])('on says when %s keeps it off, instead of doing nothing', async (file, settings) => {
    await add('a', 'project')
    put(file, settings)
    await expect(load().then((loaded) => setEnabled(loaded, host, 'a', true))).rejects.toThrow(at(file))
  })

  it('works for a built-in', async () => {
    await setEnabled(await load({ withoutBuiltins: false }), host, 'codebase', false)
    expect(JSON.parse(text(USER))).toMatchObject({ disabledServers: ['codebase'] })
    await setEnabled(await load({ withoutBuiltins: false }), host, 'codebase', true)
    expect(JSON.parse(text(USER))).toMatchObject({ disabledServers: [] })
  })

  it('for a built-in that is off by default says which file it changed, once', async () => {
    put(USER, '{"builtins": {"codebase": false}}')
    const on = async () => setEnabled(await load({ withoutBuiltins: false }), host, 'codebase', true)
    expect((await on()).changed).toEqual([at(USER)])
    expect(JSON.parse(text(USER))).toMatchObject({ builtins: { codebase: true } })
    expect((await on()).changed).toEqual([])
  })

  it('does not overwrite a list that is none', async () => {
    await add('a', 'user')
    put(USER, '{"mcpServers": {"a": {"command": "a"}}, "disabledServers": "precious"}')
    await expect(load().then((loaded) => setEnabled(loaded, host, 'a', false))).rejects.toThrow(
      /must be a list/,
    )
    expect(text(USER)).toContain('precious')
  })
})

describe('approving', () => {
  it('admits exactly what was shown; one changed character asks again; reset forgets', async () => {
    put('p/.mcp.json', '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}}')
    const loaded = await load()
    expect(pendingApprovals(loaded).map(({ name }) => name)).toEqual(['a', 'b'])
    await approve(loaded, host, { entries: pendingApprovals(loaded).slice(0, 1) })
    expect(await states()).toEqual(['a project', 'b project (pending approval)'])
    put('p/.mcp.json', '{ "mcpServers": { // laid out anew\n "a": {"command": "x"} } }')
    expect(await states()).toEqual(['a project'])
    put('p/.mcp.json', '{"mcpServers": {"a": {"command": "z"}}}')
    expect(pendingApprovals(await load())).toMatchObject([
      { name: 'a', because: 'the entry changed since it was approved' },
    ])
    put('p/.mcp.json', '{"mcpServers": {"a": {"command": "x"}}}')
    expect(await states()).toEqual(['a project'])
    expect(await resetProjectChoices(await load())).toBe(1)
    expect(await states()).toEqual(['a project (pending approval)'])
  })

  it('an entry that changes between the showing and the yes is not admitted', async () => {
    put('p/.mcp.json', '{"mcpServers": {"a": {"command": "shown"}}}')
    const loaded = await load()
    put('p/.mcp.json', '{"mcpServers": {"a": {"command": "swapped"}}}')
    await approve(loaded, host, { entries: pendingApprovals(loaded) })
    expect(await states()).toEqual(['a project (pending approval)'])
  })
})

describe('two processes at once', () => {
  it('adding 25 servers each lose nothing, comments included', async () => {
    put('p/.mcp.json', '{\n  // ours\n  "mcpServers": {}\n}\n')
    const script = await bundleScript(
      `import { systemHost } from '../host.ts'
       import { loadConfiguration } from './load.ts'
       import { addServer } from './manage.ts'
       const [cwd = '', prefix = ''] = process.argv.slice(2)
       const host = systemHost()
       const configuration = await loadConfiguration({ host, cwd })
       for (let n = 0; n < 25; n++)
         await addServer(configuration, host, { name: prefix + n, written: { command: 'x' }, scope: 'project' })`,
      fileURLToPath(new URL('.', import.meta.url)),
      base,
    )
    const env = { HOME: at('home'), PLUGBOARD_MANAGED_DIR: at('managed') }
    const siblings = ['a', 'b'].map((prefix) => start(script, [at('p'), prefix], env))
    for (const { done } of siblings) expect(await done).toEqual({ code: 0, stderr: '' })
    const { servers } = await load()
    expect(servers).toHaveLength(50)
    expect(servers.every(({ disabled }) => !disabled)).toBe(true)
    expect(text('p/.mcp.json')).toContain('// ours')
  })
})
