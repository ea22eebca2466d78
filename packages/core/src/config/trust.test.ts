import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { InvalidInput } from '../errors.ts'
import { bundleScript, start } from '../files/fixtures/processes.ts'
import { forgetApprovals, recordApprovals } from './approval-store.ts'
import { readApprovals } from './approvals.ts'
import { type TrustQuestion, trust } from './trust.ts'

const approval = { hash: 'h', source: '/p/.mcp.json', approvedAt: '2026-01-02T03:04:05.000Z' }
const question: TrustQuestion = {
  name: 'a',
  hash: 'h',
  authorship: 'repository',
  brought: false,
  approvals: new Map(),
  approveProject: false,
}

describe('the verdict', () => {
  it.each<[string, Partial<TrustQuestion>, boolean, RegExp]>([
    ['the person’s own files are trusted', { authorship: 'user' }, true, /outside the project/],
    ['the repository’s are not', {}, false, /nobody approved/],
    ['unless approved', { approvals: new Map([['a', approval]]) }, true, /approved on 2026-01-02/],
    [
      'exactly as they are',
      { approvals: new Map([['a', approval]]), hash: 'changed' },
      false,
      /changed since/,
    ],
    ['under that very name', { approvals: new Map([['b', approval]]) }, false, /nobody approved/],
    ['or waved through for this run', { approveProject: true }, true, /--approve-project/],
    ['a private file is trusted while nobody brought it', { authorship: 'checkout' }, true, /private file/],
    [
      'and not once somebody did',
      { authorship: 'checkout', brought: true },
      false,
      /came with the repository or an archive/,
    ],
    [
      'unless approved',
      { authorship: 'checkout', brought: true, approvals: new Map([['a', approval]]) },
      true,
      /approved on/,
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
    read: (root: string) => readApprovals(place(root)),
    approve: (root: string, entries: Parameters<typeof recordApprovals>[1]) =>
      recordApprovals(place(root), entries, Date.UTC(2026, 0, 2)),
    reset: (root: string) => forgetApprovals(place(root)),
  }
  const entry = (name: string, hash = 'h') => ({ name, hash, source: 's' })

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

  it('loses nothing when two processes approve at once', async () => {
    const script = await bundleScript(
      `import { recordApprovals } from './approval-store.ts'
       const [home = '', prefix = ''] = process.argv.slice(2)
       const place = { root: '/p', home, platform: 'linux', env: { PLUGBOARD_HOME: home } } as const
       for (let n = 0; n < 15; n++)
         await recordApprovals(place, [{ name: prefix + n, hash: 'h', source: 's' }], Date.now())`,
      fileURLToPath(new URL('.', import.meta.url)),
      base,
    )
    const siblings = ['a', 'b'].map((prefix) => start(script, [join(base, 'home'), prefix]))
    for (const { done } of siblings) expect(await done).toEqual({ code: 0, stderr: '' })
    expect((await store.read('/p')).size).toBe(30)
  })
})
