// audit-view.tsx: what was allowed, refused and done, which rule decided, and whether the log was changed since.
import { useEffect, useState } from 'react'
import { Button, Chip, Empty, Loading, StateMark } from '../parts/basics.tsx'
import { Icon } from '../parts/icon.tsx'
import { attempt, request } from '../state/board.ts'
import type { Json } from '../state/types.ts'

interface Check {
  readonly ok: boolean
  readonly lines?: number
  readonly file?: string
  readonly line?: number
  readonly problem?: string
}

export default function AuditView() {
  const [entries, setEntries] = useState<readonly Json[]>()
  const [check, setCheck] = useState<Check>()
  const [query, setQuery] = useState('')
  useEffect(() => {
    void attempt(async () =>
      setEntries((await request<{ readonly entries: readonly Json[] }>('audit/read')).entries),
    )
  }, [])
  const wanted = query.trim().toLowerCase()
  const shown = [...(entries ?? [])]
    .reverse()
    .filter((entry) => JSON.stringify(entry).toLowerCase().includes(wanted))
  return (
    <section className="pane" aria-labelledby="audit-title">
      <header className="pane-head">
        <h1 id="audit-title">Audit</h1>
        <div className="pane-actions">
          {check && (
            <StateMark tone={check.ok ? 'good' : 'bad'}>
              {check.ok
                ? `${check.lines ?? 0} lines, none changed`
                : `${check.file ?? ''}:${check.line ?? ''} ${check.problem ?? ''}`}
            </StateMark>
          )}
          <Button
            icon="audit"
            onClick={() => void attempt(async () => setCheck(await request<Check>('audit/verify')))}
          >
            Verify the chain
          </Button>
        </div>
      </header>
      <label className="search-field pane-search">
        <span className="visually-hidden">Filter the log</span>
        <Icon name="search" size={14} />
        <input
          value={query}
          onChange={(event) => setQuery(event.target.value)}
          placeholder="Filter the log"
        />
      </label>
      {entries === undefined && <Loading>Reading the log…</Loading>}
      {entries !== undefined && shown.length === 0 && <Empty icon="audit" title="Nothing was called yet" />}
      {shown.length > 0 && (
        <div className="table-wrap">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col">Server</th>
                <th scope="col">Tool</th>
                <th scope="col">Decision</th>
                <th scope="col">Why</th>
                <th scope="col">Outcome</th>
              </tr>
            </thead>
            <tbody>
              {shown.map((entry, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: lines of the log have no other identity
                <AuditRow key={at} entry={entry} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}

function AuditRow({ entry }: { readonly entry: Json }) {
  const text = (key: string) => (entry[key] === undefined ? '' : String(entry[key]))
  const decision = text('decision') || text('verdict') || text('event')
  return (
    <tr>
      <td className="dim nowrap">{text('at') || text('time')}</td>
      <td>{text('server')}</td>
      <td>{text('tool') || text('name') || text('uri')}</td>
      <td>
        <Chip tone={decision}>{decision}</Chip>
      </td>
      <td>
        {text('reason') || text('by')} {text('rule') !== '' && <code>{text('rule')}</code>}
      </td>
      <td>{text('outcome')}</td>
    </tr>
  )
}
