// servers-view.tsx: all servers with their live state and numbers, and one of them in full beside the list.
import { useEffect, useMemo, useState } from 'react'
import { Button, Empty } from '../parts/basics.tsx'
import { count, duration, size } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import { SearchField } from '../parts/search-field.tsx'
import { Sparkline } from '../parts/sparkline.tsx'
import { type Column, number, TableHead } from '../parts/table-head.tsx'
import { addressOf, go } from '../routes.ts'
import { board, request } from '../state/board.ts'
import { type CallStats, percentile, statsBy } from '../state/server-stats.ts'
import { useStore } from '../state/store.ts'
import type { Server } from '../state/types.ts'
import { ApproveDialog } from './approve-dialog.tsx'
import { ImportDialog } from './import-dialog.tsx'
import { ServerDetail } from './server-detail.tsx'
import { ServerForm } from './server-form.tsx'
import { ServerState } from './server-state.tsx'

export function ServersView({
  selected,
  tab,
}: {
  readonly selected: string | undefined
  readonly tab: string | undefined
}) {
  const servers = useStore(board, (state) => state.servers)
  const [query, setQuery] = useState('')
  const [isAdding, setAdding] = useState(false)
  const [isImporting, setImporting] = useState(false)
  const shown = servers.filter(({ name }) => name.toLowerCase().includes(query.trim().toLowerCase()))
  const server = servers.find(({ name }) => name === selected)
  return (
    <div className={`split ${server ? 'split-open' : ''}`}>
      <section className="pane" aria-labelledby="servers-title">
        <header className="pane-head">
          <h1 id="servers-title">Servers</h1>
          <Summary servers={servers} />
          <div className="pane-actions">
            <Button onClick={() => setImporting(true)}>Import…</Button>
            <Button tone="primary" icon="plus" onClick={() => setAdding(true)}>
              Add server
            </Button>
          </div>
        </header>
        <Faults />
        <PendingBanner />
        {servers.length > 8 && (
          <SearchField className="pane-search" label="Filter servers" value={query} onChange={setQuery} />
        )}
        {servers.length === 0 ? (
          <NoServers onAdd={() => setAdding(true)} />
        ) : (
          <ServerTable servers={shown} selected={selected} />
        )}
      </section>
      {server && (
        <ServerDetail
          key={server.name}
          server={server}
          tab={tab ?? 'overview'}
          onTab={(id) => go('servers', server.name, id)}
          onClose={() => go('servers')}
        />
      )}
      {isAdding && <ServerForm onClose={() => setAdding(false)} />}
      {isImporting && <ImportDialog onClose={() => setImporting(false)} />}
    </div>
  )
}

function NoServers({ onAdd }: { readonly onAdd: () => void }) {
  return (
    <Empty icon="servers" title="No server is configured here">
      <p>Add one with its command or URL, or import those of another client.</p>
      <Button tone="primary" icon="plus" onClick={onAdd}>
        Add server
      </Button>
    </Empty>
  )
}

function Summary({ servers }: { readonly servers: readonly Server[] }) {
  const tools = useStore(board, (state) => state.tools?.length)
  const up = servers.filter(({ state }) => state === 'connected').length
  return (
    <p className="summary">
      {up} of {servers.length} connected{tools === undefined ? '' : ` · ${count(tools)} tools`}
    </p>
  )
}

function Faults() {
  const faults = useStore(board, (state) => state.faults)
  if (faults.length === 0) return null
  return (
    <details className="faults">
      <summary>
        <Icon name="warning" size={14} /> {faults.length === 1 ? 'One problem' : `${faults.length} problems`}{' '}
        in the configuration files
      </summary>
      <ul>
        {faults.map(({ file, line, path, message, hint }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: faults have no other identity
          <li key={at}>
            <code>
              {file}
              {line === undefined ? '' : `:${line}`}
            </code>{' '}
            {path === undefined ? '' : `${path}: `}
            {message} {hint}
          </li>
        ))}
      </ul>
    </details>
  )
}

function PendingBanner() {
  const pending = useStore(board, (state) => state.pending)
  const [isOpen, setOpen] = useState(false)
  const [first] = pending
  if (!first) return null
  return (
    <div className="banner banner-warn">
      <Icon name="lock" />
      <span>
        {pending.length === 1
          ? `${first.name} came with this project and waits for your approval.`
          : `${pending.length} servers came with this project and wait for your approval.`}
      </span>
      <Button onClick={() => setOpen(true)}>Review</Button>
      {isOpen && <ApproveDialog names={pending.map(({ name }) => name)} onClose={() => setOpen(false)} />}
    </div>
  )
}

const COLUMNS: readonly Column[] = [
  'Server',
  'State',
  { title: 'Transport', className: 'wide-only' },
  { title: 'Version', className: 'wide-only' },
  number('Tools'),
  { title: 'Calls', className: 'number mid-only' },
  { title: 'Errors', className: 'number mid-only' },
  { title: 'Memory', className: 'number wide-only' },
  { title: 'Latency', className: 'mid-only latency-column' },
]

function ServerTable({
  servers,
  selected,
}: {
  readonly servers: readonly Server[]
  readonly selected: string | undefined
}) {
  const traffic = useStore(board, (state) => state.traffic)
  const pending = useStore(board, (state) => state.pending)
  const stats = useMemo(() => statsBy(traffic, ({ server }) => server), [traffic])
  const waits = new Set(pending.map(({ name }) => name))
  const memory = useMemory()
  return (
    <div className="table-wrap">
      <table className="table servers">
        <TableHead columns={COLUMNS} />
        <tbody>
          {servers.map((server) => (
            <ServerRow
              key={server.name}
              server={server}
              stats={stats.get(server.name)}
              memory={memory[server.name]}
              waits={waits.has(server.name)}
              isSelected={server.name === selected}
            />
          ))}
        </tbody>
      </table>
    </div>
  )
}

const MEMORY_MS = 5000

/** Of the processes of servers, by name; asked again while it is shown. */
function useMemory(): Readonly<Record<string, number>> {
  const [memory, setMemory] = useState<Readonly<Record<string, number>>>({})
  useEffect(() => {
    const read = () =>
      request<Readonly<Record<string, number>>>('page/memory').then(
        setMemory,
        // The page says by itself that the process does not answer.
        () => undefined,
      )
    void read()
    const timer = setInterval(() => void read(), MEMORY_MS)
    return () => clearInterval(timer)
  }, [])
  return memory
}

interface ServerRowProps {
  readonly server: Server
  readonly stats: CallStats | undefined
  /** Bytes. */
  readonly memory: number | undefined
  readonly waits: boolean
  readonly isSelected: boolean
}

function ServerRow({ server, stats, memory = 0, waits, isSelected }: ServerRowProps) {
  const { calls = 0, errors = 0, latencies = [] } = stats ?? {}
  const none = <span className="dim">–</span>
  return (
    <tr aria-selected={isSelected} onClick={() => go('servers', server.name)}>
      <th scope="row">
        <a
          href={addressOf('servers', server.name)}
          className="row-link"
          onClick={(event) => event.stopPropagation()}
        >
          {server.name}
        </a>
        <span className="row-sub">{server.serverInfo?.title ?? server.scope}</span>
      </th>
      <td>
        <ServerState server={server} waits={waits} />
      </td>
      <td className="wide-only">{server.type}</td>
      <td className="wide-only dim">{server.serverInfo?.version ?? ''}</td>
      <td className="number">{server.tools || none}</td>
      <td className="number mid-only">{calls || none}</td>
      <td className={`number mid-only ${errors > 0 ? 'bad' : ''}`}>{errors || none}</td>
      <td className="number wide-only">{memory > 0 ? size(memory) : none}</td>
      <td className="mid-only latency latency-column">
        {latencies.length === 0 && none}
        {latencies.length > 0 && (
          <Sparkline values={latencies} label={`Latency of the last ${latencies.length} calls`} />
        )}
        {latencies.length > 0 && <span className="dim">{duration(percentile(latencies, 0.5))}</span>}
      </td>
    </tr>
  )
}
