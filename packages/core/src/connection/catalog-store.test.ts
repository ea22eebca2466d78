// What a server listed is known again from a file that only the user can have written, and from nothing else.
import {
  chmodSync,
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
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { ConfiguredServer } from '../config/types.ts'
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

  it('is not used once a file of the command line changed', async () => {
    const script = join(top, 'server.mjs')
    writeFileSync(script, 'one')
    await keep(server({}, [script]))
    expect(open().recall(server({}, [script]))?.tools).toHaveLength(1)
    writeFileSync(script, 'two!')
    expect(open().recall(server({}, [script]))).toBeUndefined()
  })

  it('is not used when it is old, or from the future', async () => {
    await keep()
    now += 31 * 24 * 60 * 60 * 1000
    expect(open().recall(server())).toBeUndefined()
    now -= 60 * 24 * 60 * 60 * 1000
    expect(open().recall(server())).toBeUndefined()
  })

  it('may be shown without asking for a day when it is local, for minutes when it is remote', () => {
    const record = { at: now, ...LISTS }
    const remote = { entry: { type: 'http', url: 'https://example.com', headers: {} } } as const
    const minutes = 60_000
    expect(isCurrent(server(), record, now + 23 * 60 * minutes)).toBe(true)
    expect(isCurrent(server(), record, now + 25 * 60 * minutes)).toBe(false)
    expect(isCurrent(remote, record, now + 4 * minutes)).toBe(true)
    expect(isCurrent(remote, record, now + 6 * minutes)).toBe(false)
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
    expect(written().length).toBeLessThanOrEqual(501)
    expect(open().recall(server())?.tools).toHaveLength(1)
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
})
