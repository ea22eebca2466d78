// audit: the log of what was allowed, refused and done, and whether it was changed since.
import { auditKeysOf, auditPath } from '@plugboard/core'
import { printable, stateFolder } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import { type AuditCheck, readAudit, verifyAudit } from '@plugboard/core/permissions'
import { type Invocation, words } from '../context.ts'
import { EXIT, fitTable, shortPath, table } from '../output.ts'
import { columnsOf, isTerminal } from '../streams.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const { host, output } = invocation
  const path = auditPath(stateFolder(host))
  if (invocation.flag('verify')) {
    const check = await verifyAudit(path, auditKeysOf(host, stateFolder(host)))
    output.result({ path, ...check }, () =>
      check.ok ? verified(check) : `${shortPath(check.file)}:${check.line} ${check.problem}.`,
    )
    return check.ok ? EXIT.done : EXIT.toolError
  }
  const entries = await readAudit(path, countOption(invocation))
  output.result({ path, entries }, () => asTable(entries))
  if (entries.length === 0 && !output.json) output.note('Nothing was called yet.')
  return EXIT.done
}

const KEY_PLACES = {
  keychain: 'the keychain',
  vault: 'the encrypted vault',
  file: 'a file beside the log (audit.jsonl.key)',
} as const

/** What the check found, what it is based on, and what it cannot show. */
function verified({ lines, rotatedAway, seals }: Extract<AuditCheck, { ok: true }>): string {
  const found = [`${lines} lines, none changed, moved or removed.`]
  if (rotatedAway > 0)
    found.push(
      `Lines 1 to ${rotatedAway} were rotated away and cannot be checked; \`audit.files\` and \`audit.maxBytes\` in the settings say how much is kept.`,
    )
  if (!seals) {
    if (lines > 0)
      found.push(
        'No line is sealed with a key, so the check cannot detect a program that rewrote the whole log.',
      )
    return found.join('\n')
  }
  found.push(`The lines are sealed with a key that is kept in ${KEY_PLACES[seals.key]}.`)
  if (seals.since > 1)
    found.push(
      `Lines before ${seals.since} were written without the key: the check cannot detect a change made before line ${seals.since} was written.`,
    )
  if (seals.unsealed > 0) found.push(`The last ${seals.unsealed} lines have no seal yet.`)
  found.push(
    'The check cannot detect a change by a program that can read the key, or an older copy of both the log and its end mark.',
  )
  return found.join('\n')
}

/** On a screen the day and the time are enough, and the reason is cut; a pipe gets everything. */
function asTable(entries: readonly Readonly<Record<string, unknown>>[]): string {
  const rows = entries.map(asRow)
  if (!isTerminal(1)) return table(rows)
  const short = rows.map(([time = '', ...rest]) => [
    time.replace(/^\d{4}-(.{5})T(.{8}).*$/, '$1 $2'),
    ...rest,
  ])
  return fitTable(short, { columns: columnsOf(1), drop: [2] })
}

function asRow(entry: Readonly<Record<string, unknown>>): string[] {
  const cell = (key: string) => printable(String(entry[key] ?? '')).slice(0, 80)
  return [
    cell('time'),
    `${cell('server')}.${cell('tool')}`,
    cell(entry['user'] === undefined ? 'caller' : 'user'),
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
