// What a server listed is known again from a file that only the user can have written, and from nothing else.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { ConfiguredServer } from '../config/types.ts'
import { CATALOG_LIMITS, DEFINITION_LIMITS, LIST_LIMITS } from '../limits.ts'
import { CatalogStore, isCurrent, sourceStamp } from './catalog-store.ts'

let top: string
let now: number
beforeEach(() => {
  top = mkdtempSync(join(tmpdir(), 'plugboard-catalog-'))
  now = 1_700_000_000_000
})
afterEach(() => rmSync(top, { recursive: true, force: true }))

const server = (more: Partial<ConfiguredServer> = {}, args: readonly string[] = []): ConfiguredServer => ({
  name: 'one',
  scope: 'user',
  source: 'test',
  signature: 's',
  entry: { type: 'stdio', command: 'node', args, env: {} },
  ...more,
})
const LISTS = {
  capabilities: { tools: {} },
  instructions: 'Be kind.',
  serverInfo: { name: 'raw', version: '1' },
  tools: [{ name: 'echo', inputSchema: { type: 'object' } }],
  resources: [{ uri: 'test://one', name: 'one' }],
  prompts: [{ name: 'greet' }],
  templates: [],
  whole: ['resources', 'prompts'] as const,
}
const open = () => new CatalogStore(top, { now: () => now })
const written = () => readdirSync(join(top, 'catalog')).map((name) => join(top, 'catalog', name))

async function keep(of = server(), lists: Parameters<CatalogStore['remember']>[2] = LISTS): Promise<string> {
  const store = open()
  store.remember(of, sourceStamp(of.entry), lists)
  await store.flush()
  const [file = ''] = written()
  return file
}

describe('a catalog', () => {
  it('is known to the next process, in a file for the user alone', async () => {
    const file = await keep()
    expect(open().recall(server())).toEqual({ at: now, ...LISTS })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(join(top, 'catalog')).mode & 0o777).toBe(0o700)
    expect(written()).toHaveLength(1)
  })

  it('belongs to the exact entry, the name and the author', async () => {
    await keep()
    expect(open().recall(server({ name: 'two' }))).toBeUndefined()
    expect(open().recall(server({ author: 'repository' }))).toBeUndefined()
    expect(open().recall(server({}, ['--other']))).toBeUndefined()
    const env = { type: 'stdio', command: 'node', args: [], env: { TOKEN: 'x' } } as const
    expect(open().recall(server({ entry: env }))).toBeUndefined()
    // These say nothing about what a server lists.
    const entry = { ...server().entry, timeout: 5, permissions: { deniedTools: ['echo'] } } as const
    expect(open().recall(server({ entry }))?.tools).toHaveLength(1)
  })

  it('of a server in our own process is that of our version; other servers outlive our updates', async () => {
    const inProcess = server({ name: 'own', entry: { type: 'sdk' } })
    await keep()
    await keep(inProcess)
    const known = (store: CatalogStore) => [server(), inProcess].map((of) => store.recall(of) !== undefined)
    expect(known(open())).toEqual([true, true])
    vi.resetModules()
    vi.doMock('../version.ts', () => ({ VERSION: 'the next one' }))
    try {
      const updated = await import('./catalog-store.ts')
      expect(known(new updated.CatalogStore(top, { now: () => now }))).toEqual([true, false])
    } finally {
      vi.doUnmock('../version.ts')
      vi.resetModules()
    }
  })

  it('is not used once a file of the command line changed', async () => {
    const script = join(top, 'server.mjs')
    writeFileSync(script, 'one')
    await keep(server({}, [script]))
    expect(open().recall(server({}, [script]))?.tools).toHaveLength(1)
    writeFileSync(script, 'two!')
    expect(open().recall(server({}, [script]))).toBeUndefined()
  })

  it.each([
    [-1, false],
    [0, true],
    [CATALOG_LIMITS.ages.keepMs, true],
    [CATALOG_LIMITS.ages.keepMs + 1, false],
  ])('is not used when it is old, or from the future: after %i ms', async (age, isKnown) => {
    await keep()
    now += age
    expect(open().recall(server()) !== undefined).toBe(isKnown)
  })

  it('is written again when it changed, or after a while', async () => {
    const store = open()
    const { renewMs } = CATALOG_LIMITS.ages
    const rememberedAt = async (lists = LISTS) => {
      store.remember(server(), '', lists)
      await store.flush()
      return open().recall(server())?.at
    }
    const began = now
    expect(await rememberedAt()).toBe(began)
    now += renewMs - 1
    expect(await rememberedAt()).toBe(began)
    now += 1
    expect(await rememberedAt()).toBe(began + renewMs)
    now += 1
    expect(await rememberedAt({ ...LISTS, instructions: 'Be quick.' })).toBe(now)
  })

  it('keeps the tools where there is no room for the rest, and nothing where there is none for them', async () => {
    const long = 'x'.repeat(CATALOG_LIMITS.bytes)
    const many = { ...LISTS, resources: [{ uri: 'test://one', name: long }] }
    await keep(server(), many)
    expect(open().recall(server())).toEqual({
      at: now,
      ...LISTS,
      resources: [],
      templates: [],
      prompts: [],
      whole: [],
    })
    await keep(server({ name: 'two' }), { ...LISTS, instructions: long })
    expect(written()).toHaveLength(1)
  })

  it.each([
    [0, true],
    [1, false],
  ])('is kept whole up to its limit (over by %i)', async (over, isWhole) => {
    const empty = { ...LISTS, instructions: '' }
    const { length } = JSON.stringify({ version: 1, name: 'one', stamp: '', ...empty })
    const instructions = 'x'.repeat(CATALOG_LIMITS.bytes - length + over)
    await keep(server(), { ...LISTS, instructions })
    expect(open().recall(server())?.resources).toHaveLength(isWhole ? 1 : 0)
  })

  it('may be shown without asking for a day when it is local, for minutes when it is remote', () => {
    const record = { at: now, ...LISTS }
    const remote = { entry: { type: 'http', url: 'https://example.com', headers: {} } } as const
    const { localMs, remoteMs } = CATALOG_LIMITS.ages
    const inProcess = { entry: { type: 'sdk' } } as const
    for (const [of, ms] of [
      [server(), localMs],
      [inProcess, localMs],
      [remote, remoteMs],
    ] as const) {
      expect(isCurrent(of, record, now + ms)).toBe(true)
      expect(isCurrent(of, record, now + ms + 1)).toBe(false)
    }
  })

  it('survives a disk that cannot be written', async () => {
    writeFileSync(join(top, 'file'), '')
    const store = new CatalogStore(join(top, 'file'), { now: () => now })
    store.remember(server(), '', LISTS)
    await store.flush()
    expect(store.recall(server())).toBeUndefined()
  })

  it('forgets the oldest of too many files', async () => {
    mkdirSync(join(top, 'catalog'), { mode: 0o700 })
    for (let at = 0; at < 510; at++) {
      writeFileSync(join(top, 'catalog', `old-${at}.json`), '{}', { mode: 0o600 })
      utimesSync(join(top, 'catalog', `old-${at}.json`), at, at)
    }
    await keep()
    expect(written()).toHaveLength(CATALOG_LIMITS.files + 1)
    for (const at of [0, 9]) expect(existsSync(join(top, 'catalog', `old-${at}.json`))).toBe(false)
    expect(existsSync(join(top, 'catalog', 'old-10.json'))).toBe(true)
    expect(open().recall(server())?.tools).toHaveLength(1)
  })

  it('leaves no draft behind when it cannot be put in its place', async () => {
    const file = await keep()
    rmSync(file)
    mkdirSync(join(file, 'in the way'), { recursive: true })
    await keep()
    expect(written()).toEqual([file])
  })
})

describe('the stamp of a command line', () => {
  const stamp = (args: readonly string[], cwd?: string) =>
    sourceStamp({ type: 'stdio', command: 'node', args, env: {}, ...(cwd && { cwd }) })
  beforeEach(() => {
    for (const name of ['a.mjs', 'plain', 'with space.mjs', 'long.extension'])
      writeFileSync(join(top, name), name)
    mkdirSync(join(top, 'folder.d'))
  })

  it.each<[readonly string[], boolean]>([
    [['a.mjs'], true],
    [['./plain'], true],
    [['--script=a.mjs'], true],
    [['plain'], false],
    [['missing.mjs'], false],
    [['folder.d'], false],
    [['with space.mjs'], false],
    [['long.extension'], false],
    [['https://a.example/a.mjs'], false],
    [['a\0.mjs'], false],
    [[...Array.from({ length: CATALOG_LIMITS.stampedWords - 2 }, () => 'x'), 'a.mjs'], true],
    [[...Array.from({ length: CATALOG_LIMITS.stampedWords - 1 }, () => 'x'), 'a.mjs'], false],
  ])('%# has the files that it names: %s', (args, isStamped) => {
    expect(stamp(args, top) !== '').toBe(isStamped)
    // Where the folder is not known, only whole paths name a file.
    expect(stamp(args)).toBe('')
  })

  it('has whole paths, wherever it starts, and nothing for a server without a command', () => {
    expect(stamp([join(top, 'plain')])).not.toBe('')
    expect(stamp([top])).toBe('')
    expect(sourceStamp({ type: 'http', url: 'https://a.example', headers: {} })).toBe('')
  })
})

describe('a file that is not what was written', () => {
  const change = (file: string, how: (record: Record<string, unknown>) => unknown) =>
    writeFileSync(file, JSON.stringify(how(JSON.parse(readFileSync(file, 'utf8')))), { mode: 0o600 })

  it.each([
    ['cut off', (file: string) => writeFileSync(file, readFileSync(file, 'utf8').slice(0, 40))],
    ['readable by others', (file: string) => chmodSync(file, 0o644)],
    ['a list', (file: string) => change(file, () => [])],
    ['of another name', (file: string) => change(file, (record) => ({ ...record, name: 'two' }))],
    ['of another version', (file: string) => change(file, (record) => ({ ...record, version: 2 }))],
    ['without a time', (file: string) => change(file, ({ at: _, ...record }) => record)],
    ['of another stamp', (file: string) => change(file, (record) => ({ ...record, stamp: 'x' }))],
    ['too long', (file: string) => change(file, (record) => ({ ...record, more: 'x'.repeat(9 << 20) }))],
    ['readable by a group', (file: string) => chmodSync(file, 0o640)],
  ])('counts as none: %s', async (_, spoil) => {
    spoil(await keep())
    expect(open().recall(server())).toBeUndefined()
  })

  it('counts as none when it is a link', async () => {
    const file = await keep()
    const elsewhere = join(top, 'elsewhere.json')
    writeFileSync(elsewhere, readFileSync(file), { mode: 0o600 })
    rmSync(file)
    symlinkSync(elsewhere, file)
    expect(open().recall(server())).toBeUndefined()
  })

  it('loses the items that a server could not have sent, and keeps the others', async () => {
    const file = await keep()
    const deep = JSON.parse(`${'{"a":'.repeat(300)}1${'}'.repeat(300)}`)
    change(file, (record) => ({
      ...record,
      capabilities: { tools: 7, prompts: {} },
      whole: ['resources', 'prompts', 'tools', 'other'],
      instructions: 8,
      serverInfo: 'x',
      tools: [
        7,
        null,
        { name: '' },
        { name: 'deep', inputSchema: deep },
        { name: 'fine' },
        { name: 'x'.repeat(600) },
      ],
      resources: [{}, { uri: 'test://deep', annotations: deep }, { uri: 'test://fine' }],
      prompts: 'none',
    }))
    expect(open().recall(server())).toEqual({
      at: now,
      capabilities: { prompts: {} },
      tools: [{ name: 'fine', inputSchema: { type: 'object' } }],
      resources: [{ uri: 'test://fine', name: 'test://fine' }],
      prompts: [],
      templates: [],
      whole: ['resources', 'prompts'],
    })
  })

  it('loses capabilities that are nested too deep, and lists that are none', async () => {
    const deep = JSON.parse(`${'{"a":'.repeat(300)}1${'}'.repeat(300)}`)
    change(await keep(), (record) => ({ ...record, capabilities: { tools: {}, deep }, whole: 'resources' }))
    expect(open().recall(server())).toMatchObject({ capabilities: {}, whole: [] })
  })

  it('has text and lists of the length that a server may send', async () => {
    const prompts = Array.from({ length: LIST_LIMITS.items + 1 }, () => ({ name: 'p' }))
    const instructions = 'x'.repeat(DEFINITION_LIMITS.textChars + 1)
    change(await keep(), (record) => ({ ...record, prompts, instructions }))
    const found = open().recall(server())
    expect(found?.prompts).toHaveLength(LIST_LIMITS.items)
    expect(found?.instructions).toHaveLength(DEFINITION_LIMITS.textChars)
  })
})
