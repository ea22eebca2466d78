// The fast part of the table, every day; `npm run faults` runs all of it.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectation, loginsOn } from './fault.ts'
import { Lab } from './lab.ts'
import { play, type Stage } from './scene.ts'
import { GROUPS } from './table.ts'

let stage: Stage
let next: Lab
let home: string

beforeAll(async () => {
  const root = process.cwd()
  const lab = new Lab(root)
  // A process of its own: a misbehaving peer that keeps it busy must not look like a failing neighbour.
  next = new Lab(root)
  home = mkdtempSync(join(tmpdir(), 'plugboard-faults-'))
  stage = { root, lab, beside: await next.open('http', 'good', home) }
})
afterAll(async () => {
  await Promise.all([stage.lab.close(), next.close()])
  rmSync(home, { recursive: true, force: true })
})

for (const { title, faults } of GROUPS)
  describe(title, () => {
    for (const fault of faults.filter(({ quick }) => quick))
      it.each(fault.on.flatMap((kind) => loginsOn(kind).map((login) => [kind, login] as const)))(
        `${fault.name} on %s, %s: ${expectation(fault)}`,
        { timeout: 60_000 },
        async (kind, login) => {
          expect((await play(fault, kind, login, stage)).problems).toEqual([])
        },
      )
  })

describe('the table', () => {
  it('names every fault once', () => {
    const names = GROUPS.flatMap(({ faults }) => faults.map(({ name }) => name))
    expect(new Set(names).size).toBe(names.length)
  })

  it('has something to fail on in every entry', () => {
    const idle = GROUPS.flatMap(({ faults }) => faults).filter(
      ({ behaviour, line, lineFirst, also }) => !(behaviour ?? line ?? lineFirst ?? also),
    )
    expect(idle).toEqual([])
  })
})
