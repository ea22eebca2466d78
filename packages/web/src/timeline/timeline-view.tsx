// timeline-view.tsx: every message between the board and its servers: a list with a waterfall, filters, both sides of a
// request as JSON, two requests side by side, and an export.
import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useEffect, useMemo, useRef, useState } from 'react'
import { Button, Empty } from '../parts/basics.tsx'
import { clock, count, duration, saveFile, size } from '../parts/format.ts'
import { SearchField } from '../parts/search-field.tsx'
import { addressOf, go } from '../routes.ts'
import { board } from '../state/board.ts'
import { useStore } from '../state/store.ts'
import { EMPTY_FILTER, type Exchange, exchangesOf, type Filter, matching } from './exchanges.ts'
import { exportTraffic } from './export-traffic.ts'
import { MessageDetail } from './message-detail.tsx'

export default function TimelineView({ selected }: { readonly selected: string | undefined }) {
  const traffic = useStore(board, (state) => state.traffic)
  const [filter, setFilter] = useState<Filter>(EMPTY_FILTER)
  const [follows, setFollows] = useState(true)
  const [compared, setCompared] = useState<number>()
  const all = useMemo(() => exchangesOf(traffic), [traffic])
  const shown = useMemo(() => matching(all, filter), [all, filter])
  const chosen = all.find(({ number }) => String(number) === selected)
  const other = all.find(({ number }) => number === compared)
  return (
    <div className={`split split-wide ${chosen ? 'split-open' : ''}`}>
      <section className="pane" aria-labelledby="timeline-title">
        <header className="pane-head">
          <h1 id="timeline-title">Timeline</h1>
          <p className="summary">
            {count(shown.length)}
            {shown.length === all.length ? '' : ` of ${count(all.length)}`}
          </p>
          <div className="pane-actions">
            <label className="check">
              <input
                type="checkbox"
                checked={follows}
                onChange={(event) => setFollows(event.target.checked)}
              />{' '}
              Follow
            </label>
            <Button icon="save" disabled={shown.length === 0} onClick={() => void save(shown)}>
              Export
            </Button>
          </div>
        </header>
        <Filters filter={filter} onChange={setFilter} />
        {shown.length === 0 ? (
          <Empty icon="timeline" title={all.length === 0 ? 'Nothing was sent yet' : 'No message matches'}>
            {all.length === 0 && (
              <p>Every message between the board and its servers appears here, from every terminal.</p>
            )}
          </Empty>
        ) : (
          <Rows rows={shown} selected={chosen?.number} follows={follows && !chosen} />
        )}
      </section>
      {chosen && (
        <MessageDetail
          key={chosen.number}
          exchange={chosen}
          compared={other === chosen ? undefined : other}
          onCompare={() => setCompared(compared === chosen.number ? undefined : chosen.number)}
          isKept={compared === chosen.number}
          onClose={() => go('timeline')}
        />
      )}
    </div>
  )
}

async function save(shown: readonly Exchange[]): Promise<void> {
  const text = await exportTraffic(shown)
  saveFile('plugboard-timeline.json', 'application/json', text)
}

function Filters({
  filter,
  onChange,
}: {
  readonly filter: Filter
  readonly onChange: (filter: Filter) => void
}) {
  const servers = useStore(board, (state) => state.servers)
  return (
    <div className="bar">
      <SearchField
        label="Filter by method, tool or id"
        value={filter.text}
        onChange={(text) => onChange({ ...filter, text })}
        placeholder="Method, tool, address…"
      />
      <label>
        <span className="visually-hidden">Server</span>
        <select
          value={filter.server}
          onChange={(event) => onChange({ ...filter, server: event.target.value })}
        >
          <option value="">All servers</option>
          {servers.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      </label>
      <label>
        <span className="visually-hidden">Kind</span>
        <select
          value={filter.kind}
          onChange={(event) => onChange({ ...filter, kind: event.target.value as Filter['kind'] })}
        >
          <option value="">All kinds</option>
          <option value="work">Calls, reads and prompts</option>
          <option value="error">Errors</option>
          <option value="cancelled">Cancelled</option>
          <option value="server">From the server</option>
          <option value="notification">Notifications</option>
          <option value="again">Sent again</option>
          <option value="hooks">With hooks</option>
        </select>
      </label>
    </div>
  )
}

const ROW = 30

/** The time that the waterfall of the shown rows covers. */
function spanOf(first: Exchange | undefined, last: Exchange | undefined) {
  const from = first?.at ?? 0
  return { from, until: Math.max((last?.at ?? 0) + (last?.durationMs ?? 0), from + 1) }
}

/** The place of the row that an arrow key leads to; -1 for another key. */
function neighbour(rows: readonly Exchange[], selected: number | undefined, key: string): number {
  const by = key === 'ArrowDown' ? 1 : key === 'ArrowUp' ? -1 : 0
  const at = rows.findIndex(({ number }) => number === selected)
  return by === 0 ? -1 : Math.min(rows.length - 1, Math.max(0, at + by))
}

function RowHead() {
  return (
    <div className="row row-head" aria-hidden="true">
      {['Time', 'Server', 'Method', 'Took', 'Size', 'Waterfall'].map((title) => (
        <span key={title} className={title === 'Took' || title === 'Size' ? 'number' : undefined}>
          {title}
        </span>
      ))}
    </div>
  )
}

function Rows({
  rows,
  selected,
  follows,
}: {
  readonly rows: readonly Exchange[]
  readonly selected: number | undefined
  readonly follows: boolean
}) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW,
    overscan: 12,
  })
  useEffect(() => {
    if (follows) virtual.scrollToIndex(rows.length - 1)
  }, [follows, rows.length, virtual])
  const items = virtual.getVirtualItems()
  const { from, until } = spanOf(rows[items[0]?.index ?? 0], rows[items.at(-1)?.index ?? 0])
  const onKey = (event: KeyboardEvent<HTMLElement>) => {
    const at = neighbour(rows, selected, event.key)
    if (at < 0) return
    event.preventDefault()
    go('timeline', String(rows[at]?.number))
    virtual.scrollToIndex(at)
  }
  return (
    <div className="rows">
      <RowHead />
      <div ref={scroller} className="rows-scroller">
        <ul className="virtual" style={{ height: virtual.getTotalSize() }} aria-label="Messages">
          {items.map(({ index, start }) => {
            const row = rows[index]
            return (
              row && (
                <li
                  key={row.number}
                  className="row-place"
                  style={{ transform: `translateY(${start}px)` }}
                  aria-setsize={rows.length}
                  aria-posinset={index + 1}
                >
                  <Row
                    row={row}
                    from={from}
                    until={until}
                    isSelected={row.number === selected}
                    onKey={onKey}
                  />
                </li>
              )
            )
          })}
        </ul>
      </div>
    </div>
  )
}

const MARKS: Readonly<Partial<Record<Exchange['kind'], string>>> = { notification: '·', http: '⇄', hook: '⚑' }

function isSized({ kind, isOutline }: Exchange): boolean {
  return !isOutline && kind !== 'http' && kind !== 'hook'
}

/** In a word: the statuses of a request that was sent more than once, and what its hooks decided. */
function Besides({ row: { http, hooks, kind } }: { readonly row: Exchange }) {
  const statuses = http.map((one) => one.http?.failure ?? one.http?.status)
  const decided = hooks.map(({ hook }) => hook?.decision).filter((one) => one !== 'passed')
  return (
    <>
      {(statuses.length > 1 || kind === 'http') && <span className="row-note"> {statuses.join(' → ')}</span>}
      {hooks.length > 0 && (
        <span className="row-note">
          {kind === 'hook' ? ' ' : ' ⚑ '}
          {decided.join(', ')}
          <span className="visually-hidden">{kind === 'hook' ? '' : 'by a hook'}</span>
        </span>
      )}
    </>
  )
}

interface RowProps {
  readonly row: Exchange
  readonly from: number
  readonly until: number
  readonly isSelected: boolean
  readonly onKey: (event: KeyboardEvent<HTMLElement>) => void
}

function Row({ row, from, until, isSelected, onKey }: RowProps) {
  const left = Math.min(98, Math.max(0, ((row.at - from) / (until - from)) * 100))
  const width = Math.max(1.5, Math.min(100 - left, ((row.durationMs ?? 0) / (until - from)) * 100))
  const took = row.durationMs === undefined ? (row.outcome === 'open' ? '…' : '') : duration(row.durationMs)
  return (
    <a
      href={addressOf('timeline', String(row.number))}
      className={`row row-${row.outcome.replace(' ', '-')}`}
      aria-current={isSelected ? 'true' : undefined}
      onKeyDown={onKey}
    >
      <span className="dim">{clock(row.at, true)}</span>
      <span>{row.server}</span>
      <span>
        <span className="row-arrow" aria-hidden="true">
          {MARKS[row.kind] ?? (row.direction === 'sent' ? '→' : '←')}
        </span>
        <span className="visually-hidden">{row.kind === 'hook' ? 'hook' : row.direction}</span>{' '}
        <strong>{row.method}</strong>
        {row.name !== undefined && <span className="row-name"> {row.name}</span>}
        {row.retryOf !== undefined && <span className="dim"> again</span>}
        <Besides row={row} />
        {row.outcome === 'error' && (row.kind === 'request' || row.kind === 'answer') && (
          <span className="bad"> error</span>
        )}
        {row.outcome === 'tool-error' && <span className="bad"> tool error</span>}
        {row.outcome === 'cancelled' && <span className="dim"> cancelled</span>}
        {(row.outcome === 'timed out' || row.outcome === 'connection closed') && (
          <span className="bad"> {row.outcome}</span>
        )}
      </span>
      <span className="number">{took}</span>
      <span className="number dim">{isSized(row) ? size(row.size) : ''}</span>
      <span className="waterfall" aria-hidden="true">
        <span className="waterfall-bar" style={{ marginLeft: `${left}%`, width: `${width}%` }} />
      </span>
    </a>
  )
}
