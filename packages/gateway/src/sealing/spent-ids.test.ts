// Ids that were used up: known to this process, to the next, and to another on the same file.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { SpentIds } from './spent-ids.ts'

let folder: string
let file: string
let now: number
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'spent-'))
  file = join(folder, 'new', 'spent')
  now = 1000
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))
const open = (failed?: (error: unknown) => void) => new SpentIds(file, () => now, failed).open()

describe('a spent id', () => {
  it('is known at once, to others on the file, and to the next process', async () => {
    const [one, two] = [await open(), await open()]
    expect(await one.add('a', 2000)).toBe(true)
    expect([
      await one.has('a'),
      await two.has('a'),
      await (await open()).has('a'),
      await one.has('b'),
    ]).toEqual([true, true, true, false])
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })

  it('is forgotten by the next process when it has expired', async () => {
    const one = await open()
    await one.add('old', 1500)
    await one.add('new', 1501)
    now = 1500
    const next = await open()
    expect([await next.has('old'), await next.has('new')]).toEqual([false, true])
    expect(readFileSync(file, 'utf8')).toBe('new 1501\n')
  })

  it('is remembered as long as there is room; the oldest go first', async () => {
    const ids = new SpentIds(undefined, () => now)
    for (let at = 0; at <= GATEWAY_LIMITS.spentIds; at++) void ids.add(`i${at}`, 2000)
    expect([await ids.has('i0'), await ids.has('i1'), await ids.has(`i${GATEWAY_LIMITS.spentIds}`)]).toEqual([
      false,
      true,
      true,
    ])
  })

  it('that cannot be written is told once, until it can be again', async () => {
    const told: unknown[] = []
    mkdirSync(file, { recursive: true })
    const ids = await open((error) => told.push(error))
    expect([await ids.add('a', 2000), await ids.add('b', 2000), ids.isDurable, told.length]).toEqual([
      false,
      false,
      false,
      1,
    ])
    expect(await ids.has('a')).toBe(true)
    rmSync(file, { recursive: true })
    expect([await ids.add('c', 2000), ids.isDurable]).toEqual([true, true])
    rmSync(file)
    mkdirSync(file)
    expect([await ids.add('d', 2000), told.length]).toEqual([false, 2])
  })

  it('without a file is this process’s own', async () => {
    const ids = await new SpentIds().open()
    const later = Date.now() + 60_000
    expect([await ids.add('a', later), await ids.has('a'), ids.isDurable]).toEqual([true, true, true])
    await ids.add('b', Date.now() - 1)
    expect(await ids.has('b')).toBe(false)
  })

  it('in a damaged line is none', async () => {
    mkdirSync(join(folder, 'new'))
    writeFileSync(file, ' 5000\nx\ny z\nok 5000\n')
    const ids = await open()
    expect(await Promise.all(['x', 'y', '', 'ok'].map((id) => ids.has(id)))).toEqual([
      false,
      false,
      false,
      true,
    ])
  })
})
