// audit-view.tsx: what was allowed, refused and done, which rule decided, and whether the log was changed since.
import { useEffect, useState } from 'react'
import { Button, Chip, Empty, Loading, StateMark } from '../parts/basics.tsx'
import { moment } from '../parts/format.ts'
import { SearchField } from '../parts/search-field.tsx'
import { TableHead } from '../parts/table-head.tsx'
import { attempt, request } from '../state/board.ts'
import type { Json } from '../state/types.ts'
import { RuleDialog } from './rule-dialog.tsx'

interface Check {
  readonly ok: boolean
  readonly lines?: number
  readonly file?: string
  readonly line?: number
  readonly problem?: string
}

const read = () => request<AuditLines>('audit/read')
const verify = () => request<Check>('audit/verify')

export default function AuditView() {
  const [about, setAbout] = useState<{ readonly server: string; readonly tool: string }>()
  return (
    <>
      <AuditLog read={read} verify={verify} onRule={(server, tool) => setAbout({ server, tool })} />
      {about && <RuleDialog {...about} onClose={() => setAbout(undefined)} />}
    </>
  )
}

interface AuditLines {
  readonly entries: readonly Json[]
}

interface AuditLogProps {
  readonly read: () => Promise<AuditLines>
  readonly verify: () => Promise<Check>
  /** Makes a rule about this tool; without it no rule can be written. */
  readonly onRule?: ((server: string, tool: string) => void) | undefined
}

/** The log from wherever it is read. The functions stay the same for as long as it is shown. */
export function AuditLog({ read, verify, onRule }: AuditLogProps) {
  const [entries, setEntries] = useState<readonly Json[]>()
  const [check, setCheck] = useState<Check>()
  const [query, setQuery] = useState('')
  useEffect(() => {
    void attempt(async () => setEntries((await read()).entries))
  }, [read])
  const wanted = query.trim().toLowerCase()
  const shown = [...(entries ?? [])]
    .reverse()
    .filter((entry) => JSON.stringify(entry).toLowerCase().includes(wanted))
  return (
    <section className="pane" aria-labelledby="audit-title">
      <header className="pane-head">
        <h1 id="audit-title">Audit</h1>
        <p className="summary">{entries === undefined ? '' : `the last ${entries.length}`}</p>
        <div className="pane-actions">
          {check && <Checked check={check} />}
          <Button icon="audit" onClick={() => void attempt(async () => setCheck(await verify()))}>
            Verify the chain
          </Button>
        </div>
      </header>
      <SearchField className="pane-search" label="Filter the log" value={query} onChange={setQuery} />
      {entries === undefined && <Loading>Reading the log…</Loading>}
      {entries !== undefined && shown.length === 0 && (
        <Empty icon="audit" title={entries.length === 0 ? 'Nothing was called yet' : 'No line matches'} />
      )}
      {shown.length > 0 && <AuditTable entries={shown} onRule={onRule} />}
    </section>
  )
}

function Checked({ check }: { readonly check: Check }) {
  return (
    <StateMark tone={check.ok ? 'good' : 'bad'}>
      {check.ok
        ? `${check.lines ?? 0} lines, none changed`
        : `${check.file ?? ''}:${check.line ?? ''} ${check.problem ?? ''}`}
    </StateMark>
  )
}

const COLUMNS = ['Time', 'Server', 'Tool', 'Decision', 'Why', 'Outcome']

function AuditTable({
  entries,
  onRule,
}: { readonly entries: readonly Json[] } & Pick<AuditLogProps, 'onRule'>) {
  return (
    <div className="table-wrap">
      <table className="table table-stack">
        <TableHead columns={onRule ? [...COLUMNS, { title: 'Actions', isHidden: true }] : COLUMNS} />
        <tbody>
          {entries.map((entry, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines of the log have no other identity
            <AuditRow key={at} entry={entry} onRule={onRule} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function AuditRow({ entry, onRule }: { readonly entry: Json } & Pick<AuditLogProps, 'onRule'>) {
  const text = (key: string) => (entry[key] === undefined ? '' : String(entry[key]))
  const decision = text('decision')
  const [server, tool] = [text('server'), text('tool')]
  const [why, rule] = [text('reason'), text('rule')]
  return (
    <tr>
      <td className="dim nowrap" data-title="Time" title={text('time')}>
        {moment(text('time'))}
      </td>
      <td data-title="Server">{server}</td>
      <td data-title="Tool">{tool}</td>
      <td data-title="Decision">
        <Chip tone={decision}>{decision}</Chip>
      </td>
      <td data-title="Why">
        {why} {rule !== '' && !why.includes(rule) && <code>{rule}</code>}
      </td>
      <td data-title="Outcome">{text('outcome')}</td>
      {onRule && (
        <td>
          {server !== '' && tool !== '' && (
            <Button tone="quiet" onClick={() => onRule(server, tool)}>
              Rule…
            </Button>
          )}
        </td>
      )}
    </tr>
  )
}
