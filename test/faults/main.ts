// main.ts: runs the whole table, one scene after the other, then single calls in processes of their own; prints what did not
// hold and writes docs/reliability.md.
// `--only TEXT` runs the faults whose name or group has the text, `--on KIND` one transport; neither writes the page.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { WAY_NAMES } from '../processes/kit.ts'
import { playScene, SCENES } from '../processes/scenes.ts'
import { type Fault, KINDS, type Kind, loginsOn } from './fault.ts'
import { Lab } from './lab.ts'
import { type ProcessVerdict, writeFaults } from './report.ts'
import { play, type Verdict } from './scene.ts'
import { GROUPS } from './table.ts'

const root = process.cwd()
const word = (flag: string) => {
  const at = process.argv.indexOf(flag)
  return at === -1 ? undefined : process.argv[at + 1]
}
const only = word('--only')
const on = word('--on')
const wanted = (title: string, { name }: Fault, kind: Kind) =>
  (only === undefined || name.includes(only) || title.includes(only)) && (on === undefined || on === kind)

const began = Date.now()
const home = mkdtempSync(join(tmpdir(), 'plugboard-faults-'))
const lab = new Lab(root)
// A process of its own: a misbehaving peer that keeps it busy must not look like a failing neighbour.
const next = new Lab(root)
const verdicts: Verdict[] = []
try {
  const stage = { root, lab, beside: await next.open('http', 'good', home) }
  for (const { title, faults } of GROUPS)
    for (const fault of faults)
      for (const kind of KINDS) {
        if (!fault.on.includes(kind) || !wanted(title, fault, kind)) continue
        for (const login of loginsOn(kind)) {
          const verdict = await play(fault, kind, login, stage)
          verdicts.push(verdict)
          const { problems, ms } = verdict
          console.log(`${problems.length === 0 ? '✔' : '✘'} ${fault.name} · ${kind} · ${login} · ${ms} ms`)
          for (const problem of problems) console.log(`    ${problem.slice(0, 400)}`)
        }
      }
  await stage.beside.close()
} finally {
  await Promise.all([lab.close(), next.close()])
  rmSync(home, { recursive: true, force: true })
}
const oneShots: ProcessVerdict[] = []
for (const scene of SCENES)
  for (const way of WAY_NAMES) {
    if (on !== undefined || (only !== undefined && !scene.name.includes(only) && !'process'.includes(only)))
      continue
    const problems = await playScene(scene, way)
    oneShots.push({ scene, way, problems })
    console.log(`${problems.length === 0 ? '✔' : '✘'} ${scene.name} · ${way}`)
    for (const problem of problems) console.log(`    ${problem.slice(0, 400)}`)
  }
const bad = [...verdicts, ...oneShots].filter(({ problems }) => problems.length > 0).length
const count = verdicts.length + oneShots.length
const seconds = Math.round((Date.now() - began) / 1000)
console.log(`\n${count} scenes, ${bad} did not hold, ${seconds} s`)
if (only === undefined && on === undefined) writeFaults(root, verdicts, oneShots, seconds)
if (count === 0) console.log('No fault has such a name.')
process.exitCode = bad > 0 || count === 0 ? 1 : 0
