// The record of what the user wrote or approved: what counts of a damaged file, what is kept beside a change, who is the author.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { InvalidInput, IoError } from '../errors.ts'
import { approvalsFile, readApprovalBook, readRecords } from './approval-records.ts'
import {
  forgetApprovals,
  forgetFolder,
  listFolders,
  recordApprovals,
  recordFolder,
} from './approval-writer.ts'
import type { Place } from './sources.ts'
import { type Approval, authorOf, trust } from './trust.ts'

let base: string
let file: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-records-')))
  file = join(base, 'home', 'approvals.json')
  mkdirSync(join(base, 'home'))
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const place = (root = '/p'): Place => ({
  root,
  home: base,
  platform: 'linux',
  env: { PLUGBOARD_HOME: join(base, 'home') },
})
const put = (data: unknown) => writeFileSync(file, typeof data === 'string' ? data : JSON.stringify(data))
const saved = () => JSON.parse(readFileSync(file, 'utf8'))
const WHOLE = { hash: 'h', source: 's', approvedAt: '2026-01-02T03:04:05.000Z' }

describe('the author of an entry', () => {
  const records = (approval: Partial<Approval>) => new Map([['a', { ...WHOLE, ...approval }]])
  it.each<[string, 'user' | 'repository', Map<string, Approval>, string, 'user' | 'repository']>([
    ['of a file of the user’s', 'user', new Map(), 'h', 'user'],
    ['of the project without a record', 'repository', new Map(), 'h', 'repository'],
    ['that the user approved', 'repository', records({ kind: 'approved' }), 'h', 'repository'],
    ['of a record of an older version', 'repository', records({}), 'h', 'repository'],
    ['that the user wrote', 'repository', records({ kind: 'written' }), 'h', 'user'],
    ['that changed after the user wrote it', 'repository', records({ kind: 'written' }), 'x', 'repository'],
    ['of another name', 'repository', new Map([['b', { ...WHOLE, kind: 'written' }]]), 'h', 'repository'],
  ])('%s', (_, authorship, approvals, hash, author) => {
    expect(authorOf('a', hash, authorship, approvals)).toBe(author)
  })
})

describe('the reason of a verdict', () => {
  const approvals = new Map([['a', WHOLE]])
  it.each<[string, Partial<Parameters<typeof trust>[0]>, boolean, RegExp]>([
    ['another entry, and a changed file', { hash: 'x', changedFiles: ['f'] }, false, /^the entry changed/],
    ['a changed file', { changedFiles: ['f', 'g'] }, false, /pinned file changed.*: f, g$/],
    [
      'a changed file, waved through',
      { changedFiles: ['f'], approveProject: true },
      true,
      /--approve-project/,
    ],
    ['another entry, waved through', { hash: 'x', approveProject: true }, true, /--approve-project/],
    ['the same, waved through', { approveProject: true }, true, /^approved on 2026-01-02$/],
    ['no record, and a changed file', { approvals: new Map(), changedFiles: ['f'] }, false, /no record/],
  ])('%s', (_, more, trusted, because) => {
    const verdict = trust({
      name: 'a',
      hash: 'h',
      authorship: 'repository',
      approvals,
      approveProject: false,
      ...more,
    })
    expect([verdict.trusted, verdict.because]).toEqual([trusted, expect.stringMatching(because)])
  })
})

describe('a record that was damaged', () => {
  it.each<[unknown, unknown]>([
    [WHOLE, WHOLE],
    [
      { ...WHOLE, source: 7 },
      { ...WHOLE, source: '' },
    ],
    [
      { ...WHOLE, kind: 'written' },
      { ...WHOLE, kind: 'written' },
    ],
    [
      { ...WHOLE, kind: 'approved' },
      { ...WHOLE, kind: 'approved' },
    ],
    [{ ...WHOLE, kind: 'mine' }, WHOLE],
    [
      { ...WHOLE, files: { f: 'x' } },
      { ...WHOLE, files: { f: 'x' } },
    ],
    [{ ...WHOLE, files: null }, WHOLE],
    [{ ...WHOLE, files: 'f' }, WHOLE],
    [{ ...WHOLE, hash: undefined }, undefined],
    [{ ...WHOLE, approvedAt: 7 }, undefined],
    [7, undefined],
  ])('%j counts as %j', async (written, counts) => {
    put({ projects: { '/p': { a: written } } })
    expect((await readRecords(place())).approvals.get('a')).toEqual(counts)
  })

  it.each<[unknown, unknown]>([
    [
      { hooks: 'h', allow: ['a', 'b'] },
      { hooks: 'h', allow: ['a', 'b'] },
    ],
    [{ hooks: 7, allow: ['a', 7, null] }, { allow: ['a'] }],
    [{ allow: 'a' }, {}],
    [null, {}],
  ])('of settings %j counts as %j', async (written, counts) => {
    put({ settings: { '/p': { 'f.json': written } } })
    expect((await readRecords(place())).settings.get('f.json')).toEqual(counts)
  })

  it.each<[unknown, boolean | undefined]>([
    [{ trusted: true }, true],
    [{ trusted: false }, false],
    [{ trusted: 'yes' }, undefined],
    [{}, undefined],
    [null, undefined],
  ])('of a folder %j counts as %j', async (written, trusted) => {
    put({ folders: { '/p': written } })
    const records = await readRecords(place())
    expect(records.folder).toBe(trusted)
    expect('folder' in records).toBe(trusted !== undefined)
  })

  it('is gone after the next change, and nothing of it is in the new records', async () => {
    const good = { a: WHOLE }
    put({ projects: { '/p': 'abc', '/q': null, '/r': good }, settings: { '/p': 7 }, folders: { '/q': null } })
    await recordApprovals(place(), [{ name: 'n', hash: 'h', source: 's', kind: 'written' }], 0)
    expect(Object.keys(saved().projects['/p'])).toEqual(['n'])
    expect(saved()).toMatchObject({ projects: { '/r': good }, settings: {}, folders: {} })
    expect(Object.keys(saved().projects)).toEqual(['/r', '/p'])
  })

  it('costs the other projects nothing', async () => {
    put({ projects: { '/p': null, '/q': 'x', '/r': { a: WHOLE } } })
    expect((await readRecords(place('/p'))).approvals.size).toBe(0)
    expect((await readRecords(place('/q'))).approvals.size).toBe(0)
    expect((await readRecords(place('/r'))).approvals.size).toBe(1)
  })

  it.each(['[]', '7', '"x"', '{"settings": []}', '{"folders": null}', '{"folders": 7}'])(
    'as a whole (%s) is told, not taken for an empty one',
    async (text) => {
      put(text)
      await expect(readRecords(place())).rejects.toThrow(/is not readable JSON/)
    },
  )

  it('that is a folder is told with its reason and what to do', async () => {
    mkdirSync(file)
    const refused = readApprovalBook(approvalsFile(place()))
    await expect(refused).rejects.toThrow(InvalidInput)
    await expect(refused).rejects.toMatchObject({
      message: `${file} is a folder, not a file.`,
      hint: expect.stringContaining('Move the folder away'),
    })
  })
})

describe('a change of the record', () => {
  it('of nothing writes an empty record', async () => {
    await recordApprovals(place(), [], 0)
    expect(saved()).toEqual({ version: 1, projects: {}, settings: {}, folders: {} })
  })

  it('of settings keeps the hooks and gathers the rules', async () => {
    const more = (record: { hooks?: string; allow?: readonly string[] }) =>
      recordApprovals(place(), [], 0, [{ file: 'f.json', ...record }])
    await more({ hooks: 'one' })
    expect(saved().settings).toEqual({ '/p': { 'f.json': { hooks: 'one' } } })
    await more({ allow: ['b', 'a', 'b'] })
    expect(saved().settings['/p']['f.json']).toEqual({ hooks: 'one', allow: ['a', 'b'] })
    await more({ hooks: 'two', allow: ['c', 'a'] })
    expect(saved().settings['/p']['f.json']).toEqual({ hooks: 'two', allow: ['a', 'b', 'c'] })
    put({ settings: { '/p': { 'f.json': { allow: 'damaged' }, 'g.json': { hooks: 'g' } } } })
    await more({ allow: ['a'] })
    expect(saved().settings['/p']).toEqual({ 'f.json': { allow: ['a'] }, 'g.json': { hooks: 'g' } })
    expect(saved().projects).toEqual({})
  })

  it('forgets servers, settings and the folder of one project, and counts each', async () => {
    for (const root of ['/p', '/q']) {
      await recordApprovals(place(root), [{ name: 'a', hash: 'h', source: 's', kind: 'written' }], 0, [
        { file: 'f.json', hooks: 'h' },
        { file: 'g.json', hooks: 'h' },
      ])
      await recordFolder(place(root), root, false, 0)
    }
    expect(await forgetApprovals(place('/p'))).toBe(4)
    expect(await forgetApprovals(place('/p'))).toBe(0)
    const left = saved()
    for (const part of ['projects', 'settings', 'folders']) expect(Object.keys(left[part])).toEqual(['/q'])
  })

  it('knows a folder by its real path, also when it is gone', async () => {
    mkdirSync(join(base, 'real'))
    symlinkSync(join(base, 'real'), join(base, 'link'))
    await recordFolder(place(), join(base, 'link'), true, 0)
    expect(await listFolders(place())).toEqual([
      { folder: join(base, 'real'), trusted: true, at: '1970-01-01T00:00:00.000Z' },
    ])
    expect(await forgetFolder(place(), join(base, 'other'))).toBe(false)
    expect(await forgetFolder(place(), join(base, 'link'))).toBe(true)
    await recordFolder(place(), join(base, 'real'), false, 0)
    rmSync(join(base, 'real'), { recursive: true })
    expect(await forgetFolder(place(), join(base, 'real'))).toBe(true)
    expect(await listFolders(place())).toEqual([])
  })

  it('writes nothing when another process has taken over the lock meanwhile', async () => {
    put({ projects: {} })
    const before = readFileSync(file, 'utf8')
    // The root is looked up while the lock is held.
    const taken: Place = {
      ...place(),
      get root() {
        if (existsSync(`${file}.lock`))
          writeFileSync(`${file}.lock`, JSON.stringify({ pid: 1, host: 'elsewhere', token: 'other' }))
        return '/p'
      },
    }
    const refused = recordApprovals(taken, [{ name: 'a', hash: 'h', source: 's', kind: 'written' }], 0)
    await expect(refused).rejects.toThrow(IoError)
    expect(readFileSync(file, 'utf8')).toBe(before)
    expect(JSON.parse(readFileSync(`${file}.lock`, 'utf8')).token).toBe('other')
  })
})
