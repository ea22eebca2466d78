// The file of named tokens: what is made, revoked, read and refused, and when tokens were last used.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  addNamedToken,
  parseNamedTokens,
  readLastUses,
  readNamedTokens,
  revokeNamedToken,
  saveLastUses,
} from './named-tokens.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tokens-'))
  file = join(folder, 'new', 'tokens.json')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const NOW = 1000
const good = { id: 'i', name: 'ada', sha256: 'a'.repeat(64), created: 1 }

describe('a named token', () => {
  it('is shown once, and its file is its owner’s', async () => {
    const { token, entry } = await addNamedToken(file, { name: 'ada', role: 'admin', lifeMs: 50 }, NOW)
    expect(token).toMatch(/^pb_[\w-]{43}$/)
    expect(entry).toEqual({
      id: expect.any(String),
      name: 'ada',
      role: 'admin',
      created: NOW,
      expires: NOW + 50,
      sha256: createHash('sha256').update(token).digest('hex'),
    })
    expect(await readNamedTokens(file)).toEqual([entry])
    expect(readFileSync(file, 'utf8')).not.toContain(token)
    expect([statSync(file).mode & 0o777, statSync(join(folder, 'new')).mode & 0o777]).toEqual([0o600, 0o700])
    const plain = (await addNamedToken(file, { name: 'ben' }, NOW)).entry
    expect(plain).not.toHaveProperty('role')
    expect(plain).not.toHaveProperty('expires')
    expect((await readNamedTokens(file)).map(({ name }) => name)).toEqual(['ada', 'ben'])
  })

  it('has a name of its own', async () => {
    await addNamedToken(file, { name: 'ada' }, NOW)
    await expect(addNamedToken(file, { name: 'ada' }, NOW)).rejects.toThrow(
      'There is a token named "ada" already.',
    )
    for (const name of ['', ' a', 'a b', '-a', 'x'.repeat(129)])
      await expect(addNamedToken(file, { name }, NOW)).rejects.toThrow('is not a name for a token')
    await addNamedToken(file, { name: 'x'.repeat(128) }, NOW)
  })

  it('is revoked by its name, and the others stay', async () => {
    await addNamedToken(file, { name: 'ada' }, NOW)
    await addNamedToken(file, { name: 'ben' }, NOW)
    expect(await revokeNamedToken(file, 'cyd')).toBe(false)
    expect(await revokeNamedToken(file, 'ada')).toBe(true)
    expect((await readNamedTokens(file)).map(({ name }) => name)).toEqual(['ben'])
    expect(await revokeNamedToken(join(folder, 'none.json'), 'ada')).toBe(false)
    expect(existsSync(join(folder, 'none.json'))).toBe(false)
  })

  it.each<[unknown, boolean]>([
    [good, true],
    [{ ...good, role: 'r', expires: 5 }, true],
    [{ ...good, id: 7 }, false],
    [{ ...good, name: 7 }, false],
    [{ ...good, name: 'a b' }, false],
    [{ ...good, sha256: 'a' }, false],
    [{ ...good, sha256: 7 }, false],
    [{ ...good, role: 7 }, false],
    [{ ...good, created: 'x' }, false],
    [{ ...good, expires: 'x' }, false],
    [null, false],
  ])('%j is read: %s', (one, readable) => {
    const read = () => parseNamedTokens(JSON.stringify({ tokens: [good, one] }), 'f.json')
    if (readable) expect(read()).toEqual([good, one])
    else expect(read).toThrow('f.json has a token that cannot be read (number 2).')
  })

  it('in a file that is none is refused, never taken for no tokens', async () => {
    expect(await readNamedTokens(file)).toEqual([])
    for (const text of ['{}', '[]', 'null', '{"tokens":{}}'])
      expect(() => parseNamedTokens(text, 'f')).toThrow('f has no list of tokens.')
    expect(() => parseNamedTokens('{', 'f')).toThrow('f is not JSON (')
    mkdirSync(file, { recursive: true })
    await expect(readNamedTokens(file)).rejects.toThrow('is a folder')
  })
})

describe('the last uses', () => {
  it('are the latest of tokens that are there', async () => {
    const { entry } = await addNamedToken(file, { name: 'ada' }, NOW)
    await saveLastUses(
      file,
      new Map([
        [entry.id, 10],
        ['gone', 5],
      ]),
    )
    await saveLastUses(file, new Map([[entry.id, 7]]))
    expect([...(await readLastUses(file))]).toEqual([[entry.id, 10]])
    await saveLastUses(file, new Map([[entry.id, 12]]))
    expect([...(await readLastUses(file))]).toEqual([[entry.id, 12]])
  })

  it.each(['{', '7', 'null', '{"a":"x"}'])('of the damaged file %s are none', async (text) => {
    expect((await readLastUses(file)).size).toBe(0)
    mkdirSync(join(folder, 'new'))
    writeFileSync(`${file}.last-used`, text)
    expect((await readLastUses(file)).size).toBe(0)
  })
})
