// admin-replicas.tsx: the processes of the gateway, each as it told of itself with its last beat.
import type { ReactNode } from 'react'
import { StateMark } from '../parts/basics.tsx'
import { count, duration, size } from '../parts/format.ts'
import { Grid, Pane, useFacts, type ViewProps } from './admin-parts.tsx'

interface Status {
  readonly version: string
  readonly startedAt: number
  readonly sessions: number
  readonly running: number
  readonly calls: number
  readonly memory: number
  readonly draining: boolean
}

interface Replica {
  readonly id: string
  readonly url: string
  /** When its last beat was read; not of the replica that answers. */
  readonly seen?: number
  readonly status?: Status
}

interface Replicas {
  readonly id?: string
  readonly storeUp?: boolean
  /** Of the replica that answers. */
  readonly status?: Status
  readonly replicas: readonly Replica[]
}

const COLUMNS = ['Replica', 'State', 'Version', 'Up', 'Sessions', 'Running', 'Calls', 'Memory', 'Last seen']

export function ReplicasView({ onSignedOut }: ViewProps) {
  const { facts, problem } = useFacts<Replicas>('replicas', onSignedOut)
  const { id, storeUp, status, replicas = [] } = facts ?? {}
  const here: Replica = { id: id ?? 'alone', url: location.origin, ...(status && { status }) }
  const others = replicas.filter((one) => one.id !== id)
  return (
    <Pane
      title="Replicas"
      summary={id === undefined ? 'this gateway runs alone' : `${others.length + 1} that share a store`}
      isRead={facts !== undefined}
      problem={problem}
    >
      {storeUp !== undefined && (
        <p>
          <StateMark tone={storeUp ? 'good' : 'bad'}>
            {storeUp ? 'The shared store answers' : 'The shared store does not answer'}
          </StateMark>
        </p>
      )}
      <Grid
        columns={COLUMNS}
        rows={[here, ...others].map((one) => ({ key: one.id, cells: cellsOf(one, one === here) }))}
        icon="copy"
        empty=""
      />
      <p className="dim">
        {id === undefined
          ? 'Several gateways that share a store are replicas of one: give them the same "store" in gateway.json.'
          : 'Sessions, running calls and the state of servers on the other pages are those of this replica. Withdrawn access, revoked logins, and servers that are drained or switched off, hold for all of them.'}
      </p>
    </Pane>
  )
}

/** What a replica did not tell is empty. */
function cellsOf({ id, url, seen, status }: Replica, isHere: boolean): readonly ReactNode[] {
  const tone = status?.draining ? 'warn' : 'good'
  return [
    <div key="id">
      <code>{id}</code>
      <div className="row-sub">{url}</div>
    </div>,
    <StateMark key="state" tone={tone}>
      {status?.draining ? 'draining' : isHere ? 'serves this page' : 'alive'}
    </StateMark>,
    ...(status
      ? [
          status.version,
          duration(Math.max(0, Date.now() - status.startedAt)),
          count(status.sessions),
          count(status.running),
          count(status.calls),
          size(status.memory),
        ]
      : ['', '', '', '', '', '']),
    seen === undefined ? 'now' : `${duration(Math.max(0, Date.now() - seen))} ago`,
  ]
}
