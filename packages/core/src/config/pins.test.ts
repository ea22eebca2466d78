// Files that an approval pins, "always" grants bound to a server, and lists of connectors: small files read and written.
import { createHash } from 'node:crypto'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { CONFIG_LIMITS } from '../limits.ts'
import { alwaysRulesFile, readAlwaysRules, recordAlwaysRule } from './always-rules.ts'
import { asServerList } from './connector-list.ts'
import type { ServerEntry } from './entry.ts'
import { changedPins, filesOf } from './pins.ts'
import type { Place } from './sources.ts'

let base: string
let root: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-pins-')))
  root = join(base, 'p')
  for (const folder of ['p/sub', 'home', 'out']) mkdirSync(join(base, folder), { recursive: true })
  for (const file of ['p/a.js', 'p/sub/b.js', 'p/env.txt', 'out/c.js']) writeFileSync(join(base, file), file)
})
afterEach(() => rmSync(base, { recursive: true, force: true }))
const hash = (text: string) => createHash('sha256').update(text).digest('hex')
const stdio = (args: string[], over: object = {}): ServerEntry => ({
  type: 'stdio',
  command: 'node',
  args,
  env: {},
  ...over,
})

describe('the files that an entry names', () => {
  it.each<[string, () => ServerEntry, string[]]>([
    ['an argument', () => stdio(['a.js']), ['a.js']],
    ['a path with a dot', () => stdio(['./sub/b.js']), ['sub/b.js']],
    ['its command', () => stdio([], { command: './a.js' }), ['a.js']],
    ['an option', () => stdio(['--require=./a.js']), ['a.js']],
    ['a variable', () => stdio([], { env: { FILE: 'env.txt' } }), ['env.txt']],
    ['a shell line', () => stdio(['-c', 'node "a.js" | node sub/b.js;']), ['a.js', 'sub/b.js']],
    ['from its folder', () => stdio(['b.js', 'a.js'], { cwd: 'sub' }), ['sub/b.js']],
    ['twice', () => stdio(['a.js', './a.js']), ['a.js']],
    ['a folder', () => stdio(['sub', '.', '']), []],
    ['a file elsewhere', () => stdio([join(base, 'out/c.js'), '../out/c.js']), []],
    ['none', () => stdio(['none.js']), []],
    [
      'a helper',
      () => ({ type: 'http', url: 'https://x/', headers: {}, headersHelper: 'node a.js' }),
      ['a.js'],
    ],
    ['a remote server', () => ({ type: 'http', url: 'https://x/', headers: {} }), []],
  ])('%s', async (_, entry, expected) => {
    const found = await filesOf(entry(), root)
    expect(Object.keys(found)).toEqual(expected)
    for (const file of expected) expect(found[file]).toBe(hash(`p/${file}`))
  })

  it('are not those behind a link out of the project, nor those too large to read each time', async () => {
    symlinkSync(join(base, 'out/c.js'), join(root, 'link.js'))
    symlinkSync(join(root, 'a.js'), join(root, 'inner.js'))
    truncateSync(join(root, 'env.txt'), CONFIG_LIMITS.pinnedFileBytes + 1)
    expect(Object.keys(await filesOf(stdio(['link.js', 'inner.js', 'env.txt']), root))).toEqual(['inner.js'])
  })

  it('are compared with what was approved', async () => {
    const approval = (files?: Record<string, string>) => ({
      hash: 'h',
      source: 's',
      approvedAt: '',
      ...(files && { files }),
    })
    const approvals = new Map([
      ['same', approval({ 'a.js': hash('p/a.js') })],
      ['other', approval({ 'a.js': hash('x'), 'sub/b.js': hash('p/sub/b.js') })],
      ['gone', approval({ 'gone.js': hash('x'), 'a.js': hash('p/a.js') })],
      ['none', approval()],
    ])
    expect(await changedPins(approvals, root)).toEqual(
      new Map([
        ['other', ['a.js']],
        ['gone', ['gone.js']],
      ]),
    )
  })
})

describe('an "always"', () => {
  const place = (): Place => ({ root, home: join(base, 'home'), platform: 'linux', env: {} })
  const file = () => alwaysRulesFile(place())

  it('is bound to the servers it was given for, in one project, each once', async () => {
    expect(await readAlwaysRules(place())).toEqual(new Map())
    await recordAlwaysRule(place(), 'mcp__a', 's1')
    await recordAlwaysRule(place(), 'mcp__a', 's1')
    await recordAlwaysRule(place(), 'mcp__a', 's2')
    await recordAlwaysRule({ ...place(), root: '/other' }, 'mcp__b', 's3')
    expect(await readAlwaysRules(place())).toEqual(new Map([['mcp__a', ['s1', 's2']]]))
    expect(await readAlwaysRules({ ...place(), root: '/other' })).toEqual(new Map([['mcp__b', ['s3']]]))
    expect(await readAlwaysRules({ ...place(), root: 'toString' })).toEqual(new Map())
    expect(statSync(file()).mode & 0o777).toBe(0o600)
  })

  it.each([
    '{',
    '[]',
    '{}',
    '{"projects":[]}',
    '{"projects":{"/p":[]}}',
    '{"projects":{"/p":{"r":"s"}}}',
    '{"projects":{"/p":{"r":["s",1]}}}',
    '{"projects":{"/q":{"r":["s"]},"/p":{"r":[1,"s"]}}}',
  ])('cannot be read from %s, which is not overwritten', async (text) => {
    mkdirSync(join(base, 'home/.plugboard'))
    writeFileSync(file(), text)
    expect(await readAlwaysRules(place())).toBe('unreadable')
    await expect(recordAlwaysRule(place(), 'r', 's')).rejects.toThrow('cannot be read')
    expect(readFileSync(file(), 'utf8')).toBe(text)
  })

  it('cannot be read from a folder', async () => {
    mkdirSync(file(), { recursive: true })
    expect(await readAlwaysRules(place())).toBe('unreadable')
  })
})

describe('a list of connectors', () => {
  const listed = (...data: unknown[]) => JSON.parse(asServerList(JSON.stringify({ data }))).mcpServers
  const one = (over: object = {}) => ({ type: 'mcp_server', url: 'https://x/', ...over })

  it.each([
    ['{', '{'],
    ['[]', '[]'],
    ['{"data":{}}', '{"data":{}}'],
    ['{"data":[],"mcpServers":{}}', '{"data":[],"mcpServers":{}}'],
    ['{"data":[],"servers":{}}', '{"data":[],"servers":{}}'],
    ['{"data":[]}', '{"mcpServers":{}}'],
  ])('%s becomes %s', (text, expected) => {
    expect(asServerList(text)).toBe(expected)
  })

  it('leaves out what is not a server with an address', () => {
    expect(
      listed('x', null, { type: 'other', url: 'https://x/' }, one({ url: 5 }), { type: 'mcp_server' }),
    ).toEqual({})
  })

  it.each<[object, string, string | undefined]>([
    [{ display_name: 'Linear (EU)', name: 'n', id: 'i' }, 'Linear-EU', 'Linear (EU)'],
    [{ display_name: '', name: 'n', id: 'i' }, 'n', 'n'],
    [{ display_name: 5, id: 'i' }, 'i', 'i'],
    [{}, 'connector', undefined],
    [{ name: '---' }, 'connector', '---'],
    [{ name: 'a__b' }, 'a_b', 'a__b'],
    [{ name: 'x'.repeat(300) }, 'x'.repeat(50), 'x'.repeat(200)],
  ])('names %j %s', (over, name, description) => {
    expect(listed(one(over))).toEqual({
      [name]: { type: 'http', url: 'https://x/', ...(description !== undefined && { description }) },
    })
  })

  it('names each server differently', () => {
    expect(Object.keys(listed(one({ name: 'a' }), one({ name: 'a' }), one({ name: 'a' })))).toEqual([
      'a',
      'a-2',
      'a-3',
    ])
  })
})

it('a file of the largest size is pinned, and a larger one is not', async () => {
  const file = join(root, 'a.js')
  const pinned = async (bytes: number) => {
    truncateSync(file, bytes)
    const hashed = createHash('sha256').update(Buffer.alloc(bytes)).digest('hex')
    return (
      (
        await changedPins(
          new Map([['s', { hash: '', source: '', approvedAt: '', files: { 'a.js': hashed } }]]),
          root,
        )
      ).size === 0
    )
  }
  writeFileSync(file, '')
  expect(await pinned(CONFIG_LIMITS.pinnedFileBytes)).toBe(true)
  expect(await pinned(CONFIG_LIMITS.pinnedFileBytes + 1)).toBe(false)
})
