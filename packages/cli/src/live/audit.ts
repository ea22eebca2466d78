// audit: the record of what was allowed, refused and done, and whether anybody changed it since.
import { auditPath } from '@plugboard/core'
import { printable } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import { readAudit, verifyAudit } from '@plugboard/core/permissions'
import { type Invocation, words } from '../context.ts'
import { EXIT, shortPath, table } from '../output.ts'
import { stateDirOf } from '../plug.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const { host, output } = invocation
  const path = auditPath(stateDirOf(host))
  if (invocation.flag('verify')) {
    const check = await verifyAudit(path)
    output.result({ path, ...check }, () =>
      check.ok
        ? `${check.lines} lines, none changed, moved or taken out.${rotatedAway(check.rotatedAway)}`
        : `${shortPath(check.file)}:${check.line} ${check.problem}.`,
    )
    return check.ok ? EXIT.done : EXIT.toolError
  }
  const entries = await readAudit(path, countOption(invocation))
  output.result({ path, entries }, () => table(entries.map(asRow)))
  if (entries.length === 0 && !output.json) output.note('Nothing was called yet.')
  return EXIT.done
}

function rotatedAway(lines: number): string {
  if (lines === 0) return ''
  return `\n${lines} older lines (1 to ${lines}) were rotated away and cannot be checked; \`audit.files\` and \`audit.maxBytes\` in the settings say how much is kept.`
}

function asRow(entry: Readonly<Record<string, unknown>>): string[] {
  const cell = (key: string) => printable(String(entry[key] ?? '')).slice(0, 80)
  return [
    cell('time'),
    `${cell('server')}.${cell('tool')}`,
    cell('caller'),
    cell('decision'),
    cell('outcome'),
    `${cell('reason')}${entry['source'] === undefined ? '' : ` (${shortPath(cell('source'))})`}`,
  ]
}

function countOption(invocation: Invocation): number {
  const text = invocation.option('lines') ?? '50'
  if (!/^\d{1,6}$/.test(text) || Number(text) === 0)
    throw new InvalidInput(`--lines "${text}" is not a number of lines.`)
  return Number(text)
}
