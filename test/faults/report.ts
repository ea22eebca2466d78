// report.ts: docs/reliability.md; each run rewrites its own part between two marks and leaves the rest.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { WAY_NAMES, type Way } from '../processes/kit.ts'
import { type ProcessScene, SCENES, wanted } from '../processes/scenes.ts'
import { expectation, KINDS } from './fault.ts'
import type { Verdict } from './scene.ts'
import { GROUPS } from './table.ts'

export type Part = 'faults' | 'soak'

/** Puts the text between the marks of a part; the page must have them. */
export function writePart(root: string, part: Part, text: string): void {
  const file = join(root, 'docs/reliability.md')
  const page = readFileSync(file, 'utf8')
  const [open, close] = [`<!-- ${part} -->`, `<!-- /${part} -->`]
  const from = page.indexOf(open)
  const to = page.indexOf(close)
  if (from === -1 || to < from) throw new Error(`docs/reliability.md has no marks for ${part}.`)
  writeFileSync(file, `${page.slice(0, from + open.length)}\n\n${text.trim()}\n\n${page.slice(to)}`)
  const biome = join(dirname(file), '../node_modules/@biomejs/biome/bin/biome')
  spawnSync(process.execPath, [biome, 'format', '--write', file], { stdio: 'ignore', timeout: 30_000 })
}

export function circumstances(): string {
  return `${new Date().toISOString().slice(0, 10)}, Node ${process.version}, ${process.platform}, ${cpus().length} cores`
}

/** How one call in a process of its own went. */
export interface ProcessVerdict {
  readonly scene: ProcessScene
  readonly way: Way
  readonly problems: readonly string[]
}

export function writeFaults(
  root: string,
  verdicts: readonly Verdict[],
  oneShots: readonly ProcessVerdict[],
  seconds: number,
): void {
  const all = [...verdicts, ...oneShots]
  const bad = all.filter(({ problems }) => problems.length > 0)
  const worst = (of: (verdict: Verdict) => number) => Math.max(...verdicts.map(of))
  const lines = [
    `\`npm run faults\` on ${circumstances()}: **${all.length} scenes, ${bad.length} did not hold**, ${seconds} s.`,
    'Servers that are reached by a URL are played twice: with a login provider, as the command has one, and without.',
    `Slowest close ${worst(({ closeMs }) => closeMs)} ms; largest growth in one scene ${worst(({ peakMiB }) => peakMiB)} MiB.`,
  ]
  for (const { title, faults } of GROUPS) {
    lines.push('', `### ${title}`, '', '| fault | how | what must hold | stdio | http | sse | ws |')
    lines.push('| --- | --- | --- | --- | --- | --- | --- |')
    for (const fault of faults) {
      const cells = KINDS.map((kind) => {
        const played = verdicts.filter((one) => one.fault === fault && one.kind === kind)
        const held = played.filter(({ problems }) => problems.length === 0)
        if (held.length === played.length) return played.length === 0 ? '' : '✔'
        return held.length === 0 ? '✘' : `✘ (${played.find((one) => !held.includes(one))?.login})`
      })
      lines.push(`| ${[fault.name, fault.how, expectation(fault), ...cells].join(' | ')} |`)
    }
  }
  lines.push(...processTable(oneShots))
  writePart(root, 'faults', lines.join('\n'))
}

function processTable(verdicts: readonly ProcessVerdict[]): readonly string[] {
  const row = (scene: ProcessScene) => {
    const cells = WAY_NAMES.map((way) => {
      const verdict = verdicts.find((one) => one.scene === scene && one.way === way)
      return verdict === undefined ? '' : verdict.problems.length === 0 ? '✔' : '✘'
    })
    return `| ${[scene.name, wanted(scene), ...cells].join(' | ')} |`
  }
  return [
    '',
    '### One call in a process of its own',
    '',
    `| the server … | what must hold | ${WAY_NAMES.join(' | ')} |`,
    `| --- | --- | ${WAY_NAMES.map(() => '---').join(' | ')} |`,
    ...SCENES.map(row),
  ]
}
