// admin-users.tsx: who uses the gateway: users, their sessions, named tokens, and the users' own logins at servers.
import { Button, Chip, StateMark } from '../parts/basics.tsx'
import { duration } from '../parts/format.ts'
import { ConfirmButton, Grid, Pane, useFacts, type ViewProps, when } from './admin-parts.tsx'

interface UserRow {
  readonly key: string
  readonly name: string
  readonly roles: readonly string[]
  readonly sessions?: number
  /** Of a user that another replica let in. */
  readonly lastSeen?: number
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
      .map(({ key, name, roles, sessions, lastSeen }) => ({
        key,
        cells: [
          name,
          roles.map((role) => <Chip key={role}>{role}</Chip>),
          sessions === undefined ? `seen ${when(lastSeen)}` : String(sessions),
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

interface LoginRow {
  readonly user: string
  readonly key: string
  readonly server: string
  readonly issuer: string
  readonly obtained: number
  readonly expires?: number
  readonly renewable: boolean
}

/** One login of a user stands for all servers behind a single sign-on. */
const EVERY_SERVER = '*'

export function LoginsView({ onSignedOut }: ViewProps) {
  const { facts, problem, run } = useFacts<{ readonly logins: readonly LoginRow[] }>('logins', onSignedOut)
  const logins = facts?.logins ?? []
  return (
    <Pane
      title="Logins"
      summary={`${logins.length} of users at servers`}
      isRead={facts !== undefined}
      problem={problem}
    >
      <Grid
        columns={['User', 'Server', 'Issuer', 'Since', 'State', 'Actions']}
        rows={logins.map((one) => ({
          key: `${one.key} ${one.server}`,
          cells: [
            one.user,
            one.server === EVERY_SERVER ? 'every server (single sign-on)' : one.server,
            <span key="issuer" className="break">
              {one.issuer}
            </span>,
            when(one.obtained),
            <LoginState key="state" login={one} />,
            <ConfirmButton
              key="act"
              label="Revoke"
              sure={`End ${one.user}'s login now`}
              onConfirm={() =>
                run(
                  `${one.user} has to log in to ${one.server} again.`,
                  'DELETE',
                  'logins',
                  one.key,
                  one.server,
                )
              }
            />,
          ],
        }))}
        icon="key"
        empty="No user has a login at a server"
      />
    </Pane>
  )
}

function LoginState({ login: { renewable, expires } }: { readonly login: LoginRow }) {
  if (renewable) return <StateMark tone="good">renews itself</StateMark>
  if (expires === undefined) return <StateMark tone="good">does not end</StateMark>
  const isOver = expires < Date.now()
  return (
    <StateMark tone={isOver ? 'off' : 'wait'}>
      {isOver ? 'ended' : 'until'} {when(expires)}
    </StateMark>
  )
}
