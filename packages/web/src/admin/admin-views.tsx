// admin-views.tsx: the tables of the administration: users, sessions, tokens, servers, limits, replicas. Each reads its own facts again
// every few seconds, and says so when the gateway does not answer.
import { type ReactNode, useCallback, useEffect, useState } from 'react'
import { failureOf } from '../connection/request-failed.ts'
import { Button, Chip, Empty, Facts, Loading, Problem, StateMark, type StateTone } from '../parts/basics.tsx'
import { duration } from '../parts/format.ts'
import type { IconName } from '../parts/icon.tsx'
import { TableHead } from '../parts/table-head.tsx'
import { attempt } from '../state/board.ts'
import { act, SignedOut } from './admin-client.ts'

interface ViewProps {
  readonly onSignedOut: () => void
}

const AGAIN_MS = 3000
const CONFIRM_MS = 4000

/** What the gateway says about a subject, read again and again. */
function useFacts<T>(what: string, onSignedOut: () => void) {
  const [facts, setFacts] = useState<T>()
  const [problem, setProblem] = useState<string>()
  const read = useCallback(async () => {
    try {
      setFacts(await act<T>('GET', what))
      setProblem(undefined)
    } catch (error) {
      if (error instanceof SignedOut) onSignedOut()
      else setProblem(failureOf(error).message)
    }
  }, [what, onSignedOut])
  useEffect(() => {
    void read()
    const timer = setInterval(() => void read(), AGAIN_MS)
    return () => clearInterval(timer)
  }, [read])
  const run = (done: string, method: 'POST' | 'DELETE', ...words: readonly string[]) =>
    void attempt(async () => {
      await act(method, ...words)
      await read()
    }, done)
  return { facts, problem, run }
}

interface PaneProps {
  readonly title: string
  readonly summary?: string | undefined
  readonly isRead: boolean
  readonly problem: string | undefined
  readonly children: ReactNode
}

function Pane({ title, summary, isRead, problem, children }: PaneProps) {
  return (
    <section className="pane" aria-labelledby="pane-title">
      <header className="pane-head">
        <h1 id="pane-title">{title}</h1>
        {summary !== undefined && <p className="summary">{summary}</p>}
      </header>
      {problem !== undefined && (
        <Problem title="The gateway does not answer">
          {problem} What you see is what it said last; it is asked again every few seconds.
        </Problem>
      )}
      {isRead ? children : problem === undefined && <Loading>Asking the gateway…</Loading>}
    </section>
  )
}

interface GridProps {
  readonly columns: readonly string[]
  readonly rows: readonly { readonly key: string; readonly cells: readonly ReactNode[] }[]
  readonly icon: IconName
  readonly empty: string
}

function Grid({ columns, rows, icon, empty }: GridProps) {
  if (rows.length === 0) return <Empty icon={icon} title={empty} />
  return (
    <div className="table-wrap">
      <table className="table">
        <TableHead columns={columns.map((title) => ({ title, isHidden: title === 'Actions' }))} />
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, at) => (
                <td key={columns[at]}>{cell}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Done by the second press: the first one says what would happen. */
function ConfirmButton({
  label,
  sure,
  onConfirm,
}: {
  readonly label: string
  readonly sure: string
  readonly onConfirm: () => void
}) {
  const [asks, setAsks] = useState(false)
  useEffect(() => {
    if (!asks) return
    const timer = setTimeout(() => setAsks(false), CONFIRM_MS)
    return () => clearTimeout(timer)
  }, [asks])
  return (
    <Button
      tone={asks ? 'danger' : 'plain'}
      onClick={() => {
        setAsks(!asks)
        if (asks) onConfirm()
      }}
    >
      {asks ? sure : label}
    </Button>
  )
}

const when = (at: number | undefined) => (at === undefined ? '' : new Date(at).toLocaleString())

interface UserRow {
  readonly key: string
  readonly name: string
  readonly roles: readonly string[]
  readonly sessions: number
}

interface Users {
  readonly users: readonly UserRow[]
  readonly revoked: readonly { readonly key: string; readonly name: string; readonly at: number }[]
}

export function UsersView({ onSignedOut }: ViewProps) {
  const { facts, problem, run } = useFacts<Users>('users', onSignedOut)
  const { users = [], revoked = [] } = facts ?? {}
  const gone = new Set(revoked.map(({ key }) => key))
  const rows = [
    ...users
      .filter(({ key }) => !gone.has(key))
      .map(({ key, name, roles, sessions }) => ({
        key,
        cells: [
          name,
          roles.map((role) => <Chip key={role}>{role}</Chip>),
          String(sessions),
          <StateMark key="state" tone="good">
            has access
          </StateMark>,
          <ConfirmButton
            key="act"
            label="Withdraw access"
            sure={`End ${name}'s access now`}
            onConfirm={() => run(`The access of ${name} was withdrawn.`, 'POST', 'users', key, 'revoke')}
          />,
        ],
      })),
    ...revoked.map(({ key, name, at }) => ({
      key,
      cells: [
        name,
        '',
        '',
        <StateMark key="state" tone="bad">
          withdrawn {when(at)}
        </StateMark>,
        <Button key="act" onClick={() => run(`${name} has access again.`, 'POST', 'users', key, 'restore')}>
          Restore
        </Button>,
      ],
    })),
  ]
  return (
    <Pane
      title="Users"
      summary={`${users.length} let in, ${revoked.length} withdrawn`}
      isRead={facts !== undefined}
      problem={problem}
    >
      <Grid
        columns={['User', 'Roles', 'Sessions', 'State', 'Actions']}
        rows={rows}
        icon="lock"
        empty="No user was let in yet"
      />
    </Pane>
  )
}

interface SessionRow {
  readonly id: string
  readonly user: string
  readonly client?: string
  readonly protocolVersion?: string
  readonly streaming: boolean
  readonly busy: boolean
  readonly idleSeconds: number
}

export function SessionsView({ onSignedOut }: ViewProps) {
  const { facts, problem, run } = useFacts<{ readonly sessions: readonly SessionRow[] }>(
    'sessions',
    onSignedOut,
  )
  const sessions = facts?.sessions ?? []
  return (
    <Pane
      title="Sessions"
      summary={`${sessions.length} on this replica`}
      isRead={facts !== undefined}
      problem={problem}
    >
      <Grid
        columns={['User', 'Client', 'Protocol', 'State', 'Actions']}
        rows={sessions.map(({ id, user, client, protocolVersion, streaming, busy, idleSeconds }) => ({
          key: id,
          cells: [
            user,
            client ?? '',
            protocolVersion ?? '',
            <StateMark key="state" tone={busy ? 'wait' : streaming ? 'good' : 'off'}>
              {busy ? 'working' : `idle for ${duration(idleSeconds * 1000)}`}
            </StateMark>,
            <ConfirmButton
              key="act"
              label="End"
              sure="End this session now"
              onConfirm={() => run('The session was ended.', 'DELETE', 'sessions', id)}
            />,
          ],
        }))}
        icon="link"
        empty="No session is open"
      />
    </Pane>
  )
}

interface TokenRow {
  readonly name: string
  readonly role?: string
  readonly created: number
  readonly expires?: number
  readonly lastUsed?: number
}

export function TokensView({ onSignedOut }: ViewProps) {
  const { facts, problem } = useFacts<{ readonly tokens: readonly TokenRow[] }>('tokens', onSignedOut)
  return (
    <Pane title="Tokens" isRead={facts !== undefined} problem={problem}>
      <p className="dim">
        <code>plugboard serve token add NAME</code> makes one and <code>revoke NAME</code> ends it; the file
        holds digests only, so no token is shown here.
      </p>
      <Grid
        columns={['Name', 'Role', 'Made', 'Last used', 'Ends']}
        rows={(facts?.tokens ?? []).map(({ name, role, created, expires, lastUsed }) => ({
          key: name,
          cells: [
            name,
            role === undefined ? '' : <Chip key="role">{role}</Chip>,
            when(created),
            lastUsed === undefined ? (
              <span key="used" className="dim">
                never
              </span>
            ) : (
              when(lastUsed)
            ),
            expires === undefined ? (
              <span key="ends" className="dim">
                when revoked
              </span>
            ) : expires < Date.now() ? (
              <StateMark key="ends" tone="off">
                ended {when(expires)}
              </StateMark>
            ) : (
              when(expires)
            ),
          ],
        }))}
        icon="audit"
        empty="There is no named token"
      />
    </Pane>
  )
}

interface ServerRow {
  readonly name: string
  readonly type?: string
  readonly state: string
  readonly tools: number
  readonly error?: string
  readonly reason?: string
}

const TONES: Readonly<Record<string, StateTone>> = {
  connected: 'good',
  failed: 'bad',
  pending: 'wait',
  'needs-auth': 'warn',
}

export function ServersView({ onSignedOut }: ViewProps) {
  const { facts, problem, run } = useFacts<{ readonly servers: readonly ServerRow[] }>('servers', onSignedOut)
  return (
    <Pane title="Servers" isRead={facts !== undefined} problem={problem}>
      <Grid
        columns={['Server', 'State', 'Transport', 'Tools', 'Actions']}
        rows={(facts?.servers ?? []).map(({ name, state, type, tools, error, reason }) => ({
          key: name,
          cells: [
            <div key="name">
              {name}
              {(error ?? reason) !== undefined && <div className="row-sub">{error ?? reason}</div>}
            </div>,
            <StateMark key="state" tone={TONES[state] ?? 'off'}>
              {state}
            </StateMark>,
            type ?? '',
            String(tools),
            <div key="act" className="actions">
              {state === 'disabled' ? (
                <Button onClick={() => run(`${name} is on again.`, 'POST', 'servers', name, 'enable')}>
                  Switch on
                </Button>
              ) : (
                <>
                  <Button
                    onClick={() => run(`${name} was reconnected.`, 'POST', 'servers', name, 'reconnect')}
                  >
                    Reconnect
                  </Button>
                  <ConfirmButton
                    label="Switch off"
                    sure="Switch it off for everyone"
                    onConfirm={() => run(`${name} is off.`, 'POST', 'servers', name, 'disable')}
                  />
                </>
              )}
            </div>,
          ],
        }))}
        icon="servers"
        empty="No server is served"
      />
    </Pane>
  )
}

interface Limit {
  readonly perMinute?: number
  readonly perDay?: number
  readonly concurrent?: number
}

interface Limits {
  readonly calls: Readonly<Record<string, Readonly<Record<string, Limit>>>>
  readonly running: readonly { readonly of: string; readonly calls: number }[]
  readonly gateway: Readonly<Record<string, unknown>>
}

export function LimitsView({ onSignedOut }: ViewProps) {
  const { facts, problem } = useFacts<Limits>('limits', onSignedOut)
  const groups = Object.entries(facts?.calls ?? {})
  return (
    <Pane title="Limits" isRead={facts !== undefined} problem={problem}>
      <Grid
        columns={['Limit', 'Value']}
        rows={groups.flatMap(([group, value]) => limitRows([group], value))}
        icon="health"
        empty="gateway.json limits no calls"
      />
      {(facts?.running.length ?? 0) > 0 && (
        <>
          <h2 className="section-title">Calls that run now</h2>
          <Facts rows={(facts?.running ?? []).map(({ of, calls }) => [of, String(calls)])} />
        </>
      )}
      <h2 className="section-title">Of the gateway itself</h2>
      <Facts rows={Object.entries(facts?.gateway ?? {}).map(([name, value]) => [name, String(value)])} />
    </Pane>
  )
}

/** Each number of the limits, with the way to it. */
function limitRows(way: readonly string[], value: unknown): GridProps['rows'] {
  if (typeof value !== 'object' || value === null)
    return [{ key: way.join(' '), cells: [way.join(' › '), String(value)] }]
  return Object.entries(value).flatMap(([name, inner]) => limitRows([...way, name], inner))
}

interface Replicas {
  readonly id?: string
  readonly storeUp?: boolean
  readonly replicas: readonly { readonly id: string; readonly url: string }[]
}

export function ReplicasView({ onSignedOut }: ViewProps) {
  const { facts, problem } = useFacts<Replicas>('replicas', onSignedOut)
  const { id, storeUp, replicas = [] } = facts ?? {}
  return (
    <Pane title="Replicas" isRead={facts !== undefined} problem={problem}>
      {storeUp !== undefined && (
        <p>
          <StateMark tone={storeUp ? 'good' : 'bad'}>
            {storeUp ? 'The shared store answers' : 'The shared store does not answer'}
          </StateMark>
        </p>
      )}
      <Grid
        columns={['Replica', 'Address']}
        rows={replicas.map((one) => ({
          key: one.id,
          cells: [one.id === id ? `${one.id} (this one)` : one.id, one.url],
        }))}
        icon="copy"
        empty="This gateway runs alone"
      />
    </Pane>
  )
}
