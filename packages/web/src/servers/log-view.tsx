// log-view.tsx: what a server wrote beside the protocol, with new lines as they come, and a search.
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useMemo, useRef, useState } from 'react'
import { Button, Empty, Loading } from '../parts/basics.tsx'
import { clock, fileName, saveFile } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import { attempt, board, readLog } from '../state/board.ts'
import { useStore } from '../state/store.ts'
import type { LogLine } from '../state/types.ts'

export function LogView({ server }: { readonly server: string }) {
  const lines = useStore(board, (state) => state.logs.get(server))
  const [query, setQuery] = useState('')
  const [follows, setFollows] = useState(true)
  useEffect(() => {
    void attempt(() => readLog(server))
  }, [server])
  const shown = useMemo(() => {
    const wanted = query.trim().toLowerCase()
    return wanted === '' ? lines : lines?.filter(({ text }) => text.toLowerCase().includes(wanted))
  }, [lines, query])
  if (!lines || !shown) return <Loading>Reading the log…</Loading>
  const asText = () =>
    lines.map(({ at, stream, text }) => `${new Date(at).toISOString()} ${stream} ${text}`).join('\n')
  return (
    <div className="log">
      <div className="bar">
        <label className="search-field">
          <span className="visually-hidden">Search in the log</span>
          <Icon name="search" size={14} />
          <input
            value={query}
            onChange={(event) => setQuery(event.target.value)}
            placeholder="Search in the log"
          />
        </label>
        <label className="check">
          <input type="checkbox" checked={follows} onChange={(event) => setFollows(event.target.checked)} />{' '}
          Follow
        </label>
        <Button
          tone="quiet"
          icon="save"
          onClick={() => saveFile(`${fileName(server, 'server')}.log`, 'text/plain', asText())}
        >
          Save
        </Button>
      </div>
      {shown.length === 0 ? (
        <Empty icon="timeline" title={lines.length === 0 ? 'Nothing was written yet' : 'No line matches'} />
      ) : (
        <LogLines lines={shown} follows={follows} server={server} />
      )}
    </div>
  )
}

interface LogLinesProps {
  readonly lines: readonly LogLine[]
  readonly follows: boolean
  readonly server: string
}

function LogLines({ lines, follows, server }: LogLinesProps) {
  const scroller = useRef<HTMLDivElement>(null)
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => 20,
    overscan: 20,
  })
  useEffect(() => {
    if (follows) virtual.scrollToIndex(lines.length - 1)
  }, [follows, lines.length, virtual])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls has to be reachable by keyboard
    <div ref={scroller} className="log-lines" role="log" aria-label={`Log of ${server}`} tabIndex={0}>
      <div className="virtual" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, start, key }) => {
          const line = lines[index]
          return (
            line && (
              <div
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                className={`log-line log-${line.stream}`}
                style={{ transform: `translateY(${start}px)` }}
              >
                <span className="dim">{clock(line.at)}</span>{' '}
                <span className="log-stream">{line.stream}</span> {line.text}
              </div>
            )
          )
        })}
      </div>
    </div>
  )
}
