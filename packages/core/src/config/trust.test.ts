import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { InvalidInput } from '../errors.ts'
import { bundleScript, start } from '../files/fixtures/processes.ts'
import { readRecords } from './approval-records.ts'
import {
  forgetApprovals,
  forgetFolder,
  listFolders,
  recordApprovals,
  recordFolder,
} from './approval-writer.ts'
import { type TrustQuestion, trust } from './trust.ts'

const approval = { hash: 'h', source: '/p/.mcp.json', approvedAt: '2026-01-02T03:04:05.000Z' }
const question: TrustQuestion = {
  name: 'a',
  hash: 'h',
  authorship: 'repository',
  approvals: new Map(),
  approveProject: false,
}

describe('the verdict', () => {
  it.each<[string, Partial<TrustQuestion>, boolean, RegExp]>([
    ['the user’s own files are trusted', { authorship: 'user' }, true, /outside the project/],
    ['the repository’s are not', {}, false, /no record/],
    ['unless approved', { approvals: new Map([['a', approval]]) }, true, /approved on 2026-01-02/],
    [
      'exactly as they are',
      { approvals: new Map([['a', approval]]), hash: 'changed' },
      false,
      /changed since/,
    ],
    ['under that very name', { approvals: new Map([['b', approval]]) }, false, /no record/],
    ['or waved through for this run', { approveProject: true }, true, /--approve-project/],
    [
      'and not while a pinned file differs',
      { approvals: new Map([['a', approval]]), changedFiles: ['server.js'] },
      false,
      /pinned file changed.*server\.js/,
    ],
    [
      'what the user wrote says so',
      { approvals: new Map([['a', { ...approval, kind: 'written' as const }]]) },
      true,
      /written by you/,
    ],
  ])('%s', (_, more, trusted, because) => {
    const verdict = trust({ ...question, ...more })
    expect(verdict.trusted).toBe(trusted)
    expect(verdict.because).toMatch(because)
  })
})

describe('the store', () => {
  let base: string
  let file: string
  beforeEach(() => {
    base = mkdtempSync(join(tmpdir(), 'plugboard-trust-'))
    file = join(base, 'home', 'approvals.json')
  })
  afterEach(() => rmSync(base, { recursive: true, force: true }))
  const place = (root: string) =>
    ({ root, home: base, platform: 'linux', env: { PLUGBOARD_HOME: join(base, 'home') } }) as const
  const store = {
    read: async (root: string) => (await readRecords(place(root))).approvals,
    approve: (root: string, entries: Parameters<typeof recordApprovals>[1]) =>
      recordApprovals(place(root), entries, Date.UTC(2026, 0, 2)),
    reset: (root: string) => forgetApprovals(place(root)),
  }
  const entry = (name: string, hash = 'h') => ({ name, hash, source: 's', kind: 'approved' as const })

  it('remembers by project and name, in a private file in a private folder', async () => {
    await store.approve('/p', [entry('a'), entry('b')])
    await store.approve('/q', [entry('a', 'other')])
    await store.approve('/p', [entry('b', 'h2')])
    expect([...(await store.read('/p'))].map(([name, { hash }]) => [name, hash])).toEqual([
      ['a', 'h'],
      ['b', 'h2'],
    ])
    expect((await store.read('/q')).get('a')).toEqual({
      hash: 'other',
      source: 's',
      kind: 'approved',
      approvedAt: '2026-01-02T00:00:00.000Z',
    })
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(join(base, 'home')).mode & 0o777).toBe(0o700)
  })

  it('forgets one project and says how much', async () => {
    await store.approve('/p', [entry('a'), entry('b')])
    await store.approve('/q', [entry('a')])
    expect(await store.reset('/p')).toBe(2)
    expect(await store.reset('/p')).toBe(0)
    expect((await store.read('/p')).size).toBe(0)
    expect((await store.read('/q')).size).toBe(1)
  })

  it.each(['{', 'null', '{"projects": "x"}', '{"projects": []}'])('refuses to build on %s', async (text) => {
    await store.approve('/p', [])
    writeFileSync(file, text)
    await expect(store.read('/p')).rejects.toThrow(InvalidInput)
    await expect(store.approve('/p', [entry('a')])).rejects.toThrow(InvalidInput)
    expect(readFileSync(file, 'utf8')).toBe(text)
  })

  it('does not count an approval that is not whole', async () => {
    await store.approve('/p', [])
    const half = { a: { hash: 'h' }, b: null, c: 'h', d: { hash: 1, approvedAt: 'x' }, e: approval }
    writeFileSync(file, JSON.stringify({ projects: { '/p': half } }))
    expect([...(await store.read('/p')).keys()]).toEqual(['e'])
  })

  it('keeps folders, hooks and rules beside the servers, and what an older version wrote stays approved', async () => {
    await store.approve('/p', [])
    writeFileSync(file, JSON.stringify({ version: 1, projects: { '/p': { old: approval } } }))
    await recordFolder(place('/p'), '/p', true, 0)
    await recordApprovals(place('/p'), [], 0, [{ file: 'l.json', allow: ['mcp__b'] }])
    await recordApprovals(place('/p'), [], 0, [{ file: 'l.json', hooks: 'h', allow: ['mcp__a'] }])
    const records = await readRecords(place('/p'))
    expect(records.approvals.get('old')).toEqual(approval)
    expect(records.folder).toBe(true)
    expect(records.settings.get('l.json')).toEqual({ hooks: 'h', allow: ['mcp__a', 'mcp__b'] })
    expect((await readRecords(place('/q'))).folder).toBeUndefined()
    expect(await listFolders(place('/q'))).toMatchObject([{ folder: '/p', trusted: true }])
    expect(await forgetFolder(place('/q'), '/p')).toBe(true)
    expect((await readRecords(place('/p'))).folder).toBeUndefined()
  })

  it('loses nothing when two processes approve at once', async () => {
    const script = await bundleScript(
      `import { recordApprovals } from './approval-writer.ts'
       const [home = '', prefix = ''] = process.argv.slice(2)
       const place = { root: '/p', home, platform: 'linux', env: { PLUGBOARD_HOME: home } } as const
       for (let n = 0; n < 15; n++)
         await recordApprovals(place, [{ name: prefix + n, hash: 'h', source: 's', kind: 'approved' }], Date.now())`,
      fileURLToPath(new URL('.', import.meta.url)),
      base,
    )
    const siblings = ['a', 'b'].map((prefix) => start(script, [join(base, 'home'), prefix]))
    for (const { done } of siblings) expect(await done).toEqual({ code: 0, stderr: '' })
    expect((await store.read('/p')).size).toBe(30)
  })
})
