// Which servers a plugin folder gives, and what it says about the parts that it cannot read.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of configuration files are the subject here.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../../host.ts'
import { readPluginFolder } from './folder.ts'
import { type DocumentShape, readServers } from './raw-servers.ts'

let root: string
beforeEach(() => {
  // A name with a pattern of String.replace in it.
  root = join(realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-folder-'))), '$&p')
  mkdirSync(root)
})
afterEach(() => rmSync(dirname(root), { recursive: true, force: true }))

const at = (path: string) => join(root, path)
function put(path: string, content: unknown): void {
  mkdirSync(dirname(at(path)), { recursive: true })
  writeFileSync(at(path), typeof content === 'string' ? content : JSON.stringify(content))
}
const read = () => readPluginFolder(root, { cacheDir: at('cache'), host: systemHost() })
const summary = async () =>
  (await read()).map(({ source, servers, diagnostics }) => [
    source.replace(`${root}/`, ''),
    Object.fromEntries([...servers].map(([name, { value }]) => [name, value])),
    diagnostics.map(({ severity, message }) => `${severity}: ${message}`),
  ])
const x = { command: 'x' }

describe('a plugin folder', () => {
  it('without files says what belongs there', async () => {
    expect(await read()).toStrictEqual([
      {
        source: root,
        servers: new Map(),
        diagnostics: [
          {
            severity: 'warning',
            file: root,
            message: 'There is neither a .mcp.json nor a plugin.json in this plugin folder.',
            hint: 'Check the path; a plugin folder has one of them at its top.',
          },
        ],
      },
    ])
  })

  it.each(['.mcp.json', 'plugin.json'])('with a folder in the place of %s says so', async (name) => {
    mkdirSync(at(name))
    expect(await read()).toMatchObject([
      {
        source: at(name),
        diagnostics: [{ severity: 'error', file: at(name), message: 'This file is a folder, not a file.' }],
      },
    ])
  })

  it('takes the first manifest that is there, after its own list', async () => {
    put('.mcp.json', { a: x })
    put('plugin.json', { mcpServers: { c: x } })
    expect(await summary()).toEqual([
      ['.mcp.json', { a: x }, []],
      ['plugin.json', { c: x }, []],
    ])
    put('.claude-plugin/plugin.json', { mcpServers: { b: x } })
    expect(await summary()).toEqual([
      ['.mcp.json', { a: x }, []],
      ['.claude-plugin/plugin.json', { b: x }, []],
    ])
  })

  it.each<[unknown, object, string[]]>([
    ['', {}, ['error: It is empty.']],
    ['[]', {}, ['error: It is not a JSON object.']],
    ['{', {}, ['error: It is not valid JSON: close brace expected.']],
    [{ name: 'p' }, {}, []],
    [{ mcpServers: { a: x } }, { a: x }, []],
    [{ mcpServers: [{ a: x }] }, { a: x }, []],
    ['{"mcpServers": [{"__proto__": {"command": "evil"}, "a": {"command": "x"}}]}', { a: x }, []],
    [{ mcpServers: 5 }, {}, ['error: A path, or an object of servers, is expected here.']],
    [{ mcpServers: [null] }, {}, ['error: A path, or an object of servers, is expected here.']],
    [{ mcpServers: './gone.json' }, {}, ['error: There is no "./gone.json" in the plugin.']],
    [{ mcpServers: '.' }, {}, ['error: "." is outside the plugin.']],
    [{ mcpServers: '..' }, {}, ['error: ".." is outside the plugin.']],
    [{ mcpServers: '../x' }, {}, ['error: "../x" is outside the plugin.']],
    [{ mcpServers: '/etc/passwd' }, {}, ['error: "/etc/passwd" is outside the plugin.']],
    [{ mcpServers: '..named.json' }, { n: x }, []],
    [{ mcpServers: '${CLAUDE_PLUGIN_ROOT}/..named.json' }, { n: x }, []],
    [{ mcpServers: './sub' }, {}, ['error: This file is a folder, not a file.']],
  ])('with the manifest %j', async (manifest, servers, said) => {
    put('..named.json', { n: x })
    mkdirSync(at('sub'))
    put('plugin.json', manifest)
    const documents = await summary()
    expect(documents.map(([, found, messages]) => [found, messages])).toEqual([[servers, said]])
  })

  it('reads as many parts as it may, and says when there are more', async () => {
    const parts = (count: number) => Array.from({ length: count }, (_, index) => ({ [`s${index}`]: x }))
    put('plugin.json', { mcpServers: parts(64) })
    expect(await summary()).toHaveLength(64)
    put('plugin.json', { mcpServers: parts(65) })
    const documents = await summary()
    expect(documents[0]).toEqual(['plugin.json', {}, ['warning: Only the first 64 of 65 parts are read.']])
    expect(documents).toHaveLength(65)
  })

  it('fills in its own folder everywhere, and keeps the first of one name', async () => {
    put(
      '.mcp.json',
      '{\n  "a": {"command": "${CLAUDE_PLUGIN_ROOT}/x", "args": ["-c", "${CLAUDE_PLUGIN_ROOT}"], "env": {"K": "${PLUGBOARD_PLUGIN_ROOT}"}}\n}',
    )
    put(
      'plugin.json',
      '{"mcpServers": {\n  "a": {"command": "y"},\n  "b": {"command": "z", "timeout": 5}\n}}',
    )
    const [own, manifest] = await read()
    expect(own?.servers.get('a')?.value).toEqual({
      command: `${root}/x`,
      args: ['-c', root],
      env: { K: root },
    })
    expect(manifest?.servers.get('b')).toEqual({ value: { command: 'z', timeout: 5 }, line: 3, column: 8 })
    expect(manifest?.diagnostics).toStrictEqual([
      {
        severity: 'warning',
        file: at('plugin.json'),
        line: 2,
        server: 'a',
        message: `"a" is defined by ${at('.mcp.json')} of the same plugin already; this one is left out.`,
      },
    ])
    put('plugin.json', { mcpServers: [{ a: x }] })
    expect((await read())[1]?.diagnostics[0]).not.toHaveProperty('line')
  })
})

describe('a text that lists servers', () => {
  const strict: DocumentShape = { keys: ['servers', 'mcpServers'], flat: false }
  const flat: DocumentShape = { keys: ['mcpServers'], flat: true }
  const hint = (shape: DocumentShape) => `A JSON object with "${shape.keys[0]}" is expected.`
  it.each<[string, DocumentShape, string | undefined, object?]>([
    ['', flat, undefined],
    ['', strict, 'It is empty.'],
    ['{', flat, 'It is not valid JSON: close brace expected.', { line: 1, column: 2 }],
    ['\n []', flat, 'It is not a JSON object.', { line: 2, column: 2 }],
    ['{"a": {}}', strict, 'There is no "servers" in it.'],
    ['{"mcpServers": []}', strict, '"mcpServers" is not an object.', { line: 1, column: 16 }],
  ])('%j', (text, shape, message, place = {}) => {
    const { readable, servers, diagnostics } = readServers(text, 'f', shape)
    expect([readable, servers.size]).toEqual([message === undefined, 0])
    expect(diagnostics).toStrictEqual(
      message === undefined ? [] : [{ severity: 'error', file: 'f', ...place, message, hint: hint(shape) }],
    )
  })

  it.each<[string, DocumentShape, string[]]>([
    ['{"$schema": "s", "a": {}}', flat, ['a']],
    ['{"mcpServers": {"$schema": {}, "a": {}}}', flat, ['$schema', 'a']],
    ['{"mcpServers": {"a": {}}, "servers": {"b": {}}}', strict, ['b']],
    ['{"mcpServers": {"a": {}}}', strict, ['a']],
  ])('%j has the servers of its map', (text, shape, names) => {
    const { readable, servers } = readServers(text, 'f', shape)
    expect([readable, [...servers.keys()]]).toEqual([true, names])
  })

  it('leaves out a name that would reach a prototype, and says so', () => {
    const { servers, diagnostics } = readServers('{"__proto__": {}, "a": null}', 'f', flat)
    expect([...servers]).toEqual([['a', { value: null, line: 1, column: 24 }]])
    expect(diagnostics).toStrictEqual([
      {
        severity: 'error',
        file: 'f',
        line: 1,
        column: 15,
        server: '__proto__',
        message: 'A server may not have the name "__proto__"; it is left out.',
      },
    ])
  })
})
