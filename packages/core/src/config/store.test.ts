// Editing one configuration file: what is written, in which mode, and when nothing is.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { InvalidInput, IoError } from '../errors.ts'
import type { Change } from './edit.ts'
import { type Place, SETTINGS_SCHEMA_URL, type WritableScope, writableSource } from './sources.ts'
import { editSource, serverPath } from './store.ts'

let base: string
let place: Place
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-store-')))
  for (const folder of ['home', 'p']) mkdirSync(join(base, folder))
  place = { root: join(base, 'p'), home: join(base, 'home'), platform: 'linux', env: {} }
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const SET: readonly Change[] = [{ do: 'set', path: ['mcpServers', 'a'], value: { command: 'a' } }]
const of = (scope: WritableScope) => writableSource(place, scope)
const edit = (scope: WritableScope, changes = SET) => editSource(place, of(scope), () => changes)
function put(scope: WritableScope, text: string, mode = 0o644): void {
  const { file } = of(scope)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
  chmodSync(file, mode)
}
const text = (scope: WritableScope) => readFileSync(of(scope).file, 'utf8')
const mode = (scope: WritableScope) => statSync(of(scope).file).mode & 0o777

describe('an edit', () => {
  it.each<[WritableScope, object, number]>([
    ['user', { $schema: SETTINGS_SCHEMA_URL, mcpServers: { a: { command: 'a' } } }, 0o600],
    ['local', { $schema: SETTINGS_SCHEMA_URL, mcpServers: { a: { command: 'a' } } }, 0o600],
    ['project', { mcpServers: { a: { command: 'a' } } }, 0o644],
  ])('of scope %s makes its file', async (scope, content, rights) => {
    expect(await edit(scope)).toBe(true)
    expect(JSON.parse(text(scope))).toEqual(content)
    expect(mode(scope)).toBe(rights)
  })

  it.each<WritableScope>(['user', 'local', 'project'])(
    'of scope %s that changes nothing makes no file',
    async (scope) => {
      expect(await edit(scope, [])).toBe(false)
      expect(existsSync(of(scope).file)).toBe(false)
      expect(existsSync(join(base, 'p/.plugboard/.gitignore'))).toBe(false)
    },
  )

  it('that changes nothing leaves the file untouched', async () => {
    await edit('user')
    const before = text('user')
    const { ino } = statSync(of('user').file)
    expect(await edit('user')).toBe(false)
    expect(await edit('user', [])).toBe(false)
    expect(statSync(of('user').file).ino).toBe(ino)
    expect(text('user')).toBe(before)
  })

  it('closes a private file that came with the repository, and keeps the mode of the others', async () => {
    for (const scope of ['user', 'local', 'project'] as const) {
      put(scope, '{"mcpServers": {}}', 0o664)
      await edit(scope)
    }
    expect([mode('user'), mode('local'), mode('project')]).toEqual([0o664, 0o600, 0o664])
  })

  it('of a new private file keeps it out of version control, and leaves an own list alone', async () => {
    const ignore = join(base, 'p/.plugboard/.gitignore')
    await edit('local')
    expect(readFileSync(ignore, 'utf8')).toBe('settings.local.json\n')
    rmSync(ignore)
    await edit('local', [{ do: 'set', path: ['mcpServers', 'b'], value: { command: 'b' } }])
    expect(existsSync(ignore)).toBe(false)
    rmSync(of('local').file)
    writeFileSync(ignore, 'own\n')
    await edit('local')
    expect(readFileSync(ignore, 'utf8')).toBe('own\n')
    await edit('project')
    expect(existsSync(join(base, 'p/.gitignore'))).toBe(false)
  })

  it('does not write when another process has taken over the lock meanwhile', async () => {
    put('user', '{}')
    const { file } = of('user')
    const refused = editSource(place, of('user'), () => {
      writeFileSync(`${file}.lock`, JSON.stringify({ pid: 1, host: 'elsewhere', token: 'other' }))
      return SET
    })
    await expect(refused).rejects.toThrow(IoError)
    expect(text('user')).toBe('{}')
  })

  it.each([
    ['the file', '.mcp.json', 'elsewhere.json', 'project' as const],
    ['its folder', '.plugboard', 'elsewhere', 'local' as const],
  ])('does not follow a link of the project: %s', async (_, link, target, scope) => {
    if (scope === 'local') mkdirSync(join(base, target))
    else writeFileSync(join(base, target), '{}')
    symlinkSync(join(base, target), join(base, 'p', link))
    await expect(edit(scope)).rejects.toThrow(
      /is a symbolic link, and plugboard does not write through links/,
    )
    expect(existsSync(join(base, target, 'settings.local.json'))).toBe(false)
  })

  it('follows a link of the user’s, whatever it is called', async () => {
    mkdirSync(join(base, 'dotfiles'))
    symlinkSync(join(base, 'dotfiles'), join(base, 'home/.plugboard'))
    expect(await edit('user')).toBe(true)
    expect(existsSync(join(base, 'dotfiles/settings.json'))).toBe(true)
  })

  it('is locked where the link of a file leads, so that every name of it waits for the same', async () => {
    put('user', '{}')
    const { file } = of('user')
    const real = join(base, 'real.json')
    writeFileSync(real, '{}')
    rmSync(file)
    symlinkSync(real, file)
    const locked = await new Promise<boolean>((done) => {
      void editSource(place, of('user'), () => {
        done(existsSync(`${real}.lock`))
        return []
      })
    })
    expect(locked).toBe(true)
  })

  it.each([
    ['a folder', (file: string) => mkdirSync(file), InvalidInput, 'is a folder, not a file'],
    [
      'not UTF-8',
      (file: string) => writeFileSync(file, Buffer.from([0x7b, 0x7d, 0xff])),
      InvalidInput,
      'is not UTF-8',
    ],
  ])('of a file that is %s is refused and says why', async (_, make, kind, why) => {
    make(of('project').file)
    const refused = edit('project')
    await expect(refused).rejects.toThrow(kind)
    await expect(refused).rejects.toThrow(why)
  })

  it('says which fault of the system kept it from writing, and passes other errors on', async () => {
    writeFileSync(join(base, 'p/.plugboard'), 'a file')
    await expect(edit('local')).rejects.toMatchObject({
      code: 'IO_ERROR',
      message: expect.stringContaining(join('.plugboard', 'settings.local.json')),
    })
    const own = new Error('of the plan')
    await expect(
      editSource(place, of('user'), () => {
        throw own
      }),
    ).rejects.toBe(own)
  })
})

describe('the place of a server in a file', () => {
  it.each<[WritableScope, string, readonly string[]]>([
    ['project', '{}', ['mcpServers', 'a']],
    ['project', '{"$schema": "x"}', ['mcpServers', 'a']],
    ['project', '{"b": {"command": "b"}}', ['a']],
    ['project', '{"$schema": "x", "b": {"command": "b"}}', ['a']],
    ['project', '{"b": {}, "mcpServers": {}}', ['mcpServers', 'a']],
    ['project', '[]', ['mcpServers', 'a']],
    ['user', '{"b": {"command": "b"}}', ['mcpServers', 'a']],
  ])('of scope %s: %s → %j', (scope, content, path) => {
    expect(serverPath(content, of(scope), 'a')).toEqual(path)
  })
})

describe('a file that cannot be written', () => {
  it.each<[string, () => void, RegExp]>([
    [
      'a link to itself in its place',
      () => {
        mkdirSync(dirname(of('user').file), { recursive: true })
        symlinkSync(of('user').file, of('user').file)
      },
      /could not be written: a symbolic link is in its place/,
    ],
    [
      'a folder in the place of the lock',
      () => mkdirSync(`${of('user').file}.lock`, { recursive: true }),
      /where a lock belongs, is a folder/,
    ],
  ])('because of %s', async (_, arrange, message) => {
    arrange()
    await expect(edit('user')).rejects.toThrow(message)
  })
})
