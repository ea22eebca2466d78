// tools-view.tsx: all tools with the library's own search, and one of them to read and to call.
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'
import { Chip, Empty, Loading } from '../parts/basics.tsx'
import { count } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import { addressOf, go } from '../routes.ts'
import { attempt, board, request } from '../state/board.ts'
import { useStore } from '../state/store.ts'
import type { ToolLine } from '../state/types.ts'
import { ToolDetail } from './tool-detail.tsx'

interface ToolsViewProps {
  readonly selected: string | undefined
  /** Arguments that the form starts with, as JSON. */
  readonly given: string | undefined
}

export default function ToolsView({ selected, given }: ToolsViewProps) {
  const tools = useStore(board, (state) => state.tools)
  const [query, setQuery] = useState('')
  const [server, setServer] = useState('')
  const ranked = useRanked(query)
  const shown = useMemo(() => filtered(tools ?? [], ranked, server), [tools, ranked, server])
  const servers = useMemo(() => [...new Set((tools ?? []).map((tool) => tool.server))].sort(), [tools])
  const line = tools?.find(({ name }) => name === selected)
  return (
    <div className={`split split-list ${selected === undefined ? '' : 'split-open'}`}>
      <section className="pane" aria-labelledby="tools-title">
        <header className="pane-head">
          <h1 id="tools-title">Tools</h1>
          <p className="summary">
            {tools === undefined
              ? ''
              : `${count(shown.length)}${shown.length === tools.length ? '' : ` of ${count(tools.length)}`}`}
          </p>
        </header>
        <div className="bar">
          <label className="search-field">
            <span className="visually-hidden">Search tools</span>
            <Icon name="search" size={14} />
            <input
              type="search"
              value={query}
              onChange={(event) => setQuery(event.target.value)}
              placeholder="What do you want to do?"
            />
          </label>
          <label>
            <span className="visually-hidden">Server</span>
            <select value={server} onChange={(event) => setServer(event.target.value)}>
              <option value="">All servers</option>
              {servers.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        </div>
        {tools === undefined ? (
          <Loading>Listing the tools…</Loading>
        ) : shown.length === 0 ? (
          <Empty icon="tools" title={tools.length === 0 ? 'No server has tools yet' : 'No tool matches'} />
        ) : (
          <ToolList tools={shown} selected={selected} />
        )}
      </section>
      {selected !== undefined && (
        <ToolDetail key={selected} name={selected} line={line} given={given} onClose={() => go('tools')} />
      )}
    </div>
  )
}

/** The names in the order of the library's ranker; undefined without a query. */
function useRanked(query: string): readonly string[] | undefined {
  const [ranked, setRanked] = useState<readonly string[]>()
  const wanted = query.trim()
  useEffect(() => {
    if (wanted === '') return setRanked(undefined)
    const controller = new AbortController()
    const timer = setTimeout(
      () =>
        void attempt(async () => {
          const names = await request<readonly string[]>('page/search', { query: wanted })
          if (!controller.signal.aborted) setRanked(names)
        }),
      80,
    )
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [wanted])
  return ranked
}

function filtered(
  tools: readonly ToolLine[],
  ranked: readonly string[] | undefined,
  server: string,
): readonly ToolLine[] {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const found = ranked ? ranked.flatMap((name) => byName.get(name) ?? []) : tools
  return server === '' ? found : found.filter((tool) => tool.server === server)
}

function ToolList({
  tools,
  selected,
}: {
  readonly tools: readonly ToolLine[]
  readonly selected: string | undefined
}) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: tools.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 58,
    overscan: 8,
  })
  const place = tools.findIndex(({ name }) => name === selected)
  useEffect(() => {
    if (place >= 0) virtual.scrollToIndex(place, { align: 'auto' })
  }, [place, virtual])
  return (
    <div ref={scroller} className="list">
      <ul className="virtual" style={{ height: virtual.getTotalSize() }} aria-label="Tools">
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const tool = tools[index]
          return (
            tool && (
              <li
                key={key}
                className="list-item"
                style={{ transform: `translateY(${start}px)` }}
                aria-setsize={tools.length}
                aria-posinset={index + 1}
              >
                <a
                  href={addressOf('tools', tool.name)}
                  className="list-link"
                  aria-current={tool.name === selected ? 'true' : undefined}
                >
                  <span className="list-title">
                    {tool.tool}
                    {tool.destructive && <Chip tone="deny">destructive</Chip>}
                    {tool.readOnly && <Chip tone="good">read-only</Chip>}
                    {tool.permission === 'deny' && <Chip tone="deny">denied</Chip>}
                    {!tool.available && <Chip>away</Chip>}
                  </span>
                  <span className="list-sub">
                    <span className="list-server">{tool.server}</span> {tool.description}
                  </span>
                </a>
              </li>
            )
          )
        })}
      </ul>
    </div>
  )
}
