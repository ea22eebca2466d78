// admin-app.tsx: the frame of the administration: sign-in, navigation, and the state of the connection.
import { type FormEvent, useEffect, useState } from 'react'
import { AuditLog } from '../health/audit-view.tsx'
import { Button, Problem } from '../parts/basics.tsx'
import { ErrorBoundary } from '../parts/error-boundary.tsx'
import { Icon, type IconName } from '../parts/icon.tsx'
import { Notices } from '../parts/notices.tsx'
import { useScrollIntoView } from '../parts/scroll-into-view.ts'
import { ThemeButton } from '../parts/theme-button.tsx'
import type { Json } from '../state/types.ts'
import { act, hasSession, signIn, signOut, tokenOfAddress } from './admin-client.ts'
import type { ViewProps } from './admin-parts.tsx'
import { ReplicasView } from './admin-replicas.tsx'
import { LimitsView, ServersView } from './admin-servers.tsx'
import { LoginsView, SessionsView, TokensView, UsersView } from './admin-users.tsx'

const VIEWS = {
  users: ['Users', 'user', UsersView],
  sessions: ['Sessions', 'link', SessionsView],
  tokens: ['Tokens', 'lock', TokensView],
  logins: ['Logins', 'key', LoginsView],
  servers: ['Servers', 'servers', ServersView],
  limits: ['Limits', 'health', LimitsView],
  replicas: ['Replicas', 'copy', ReplicasView],
  audit: ['Audit', 'audit', Audit],
} as const satisfies Readonly<Record<string, readonly [string, IconName, (props: ViewProps) => unknown]>>

type ViewId = keyof typeof VIEWS

type Session = 'signing-in' | 'in' | 'out'

export function AdminApp() {
  const [session, setSession] = useState<Session>('signing-in')
  useEffect(() => {
    const token = tokenOfAddress()
    if (token === undefined) setSession(hasSession() ? 'in' : 'out')
    else void signIn(token).then((isIn) => setSession(isIn || hasSession() ? 'in' : 'out'))
  }, [])
  if (session === 'signing-in') return null
  if (session === 'out') return <SignIn onSignedIn={() => setSession('in')} />
  return (
    <Frame
      onSignedOut={() => {
        signOut()
        setSession('out')
      }}
    />
  )
}

/** Of the address. */
function viewNow(): ViewId {
  const id = location.hash.slice(2)
  return id in VIEWS ? (id as ViewId) : 'users'
}

function useView(): ViewId {
  const [view, setView] = useState(viewNow)
  useEffect(() => {
    const onChange = () => setView(viewNow())
    addEventListener('hashchange', onChange)
    return () => removeEventListener('hashchange', onChange)
  }, [])
  return view
}

function Frame({ onSignedOut }: ViewProps) {
  const view = useView()
  const [, , View] = VIEWS[view]
  const strip = useScrollIntoView(view)
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to content
      </button>
      <header className="sidebar">
        <div className="brand">
          <img src="/icon.svg" alt="" width="24" height="24" />
          <div>
            <div className="brand-name">Plugboard</div>
            <div className="brand-folder">Gateway</div>
          </div>
        </div>
        <nav ref={strip} aria-label="Views">
          <ul className="navigation">
            {Object.entries(VIEWS).map(([id, [title, icon]]) => (
              <li key={id}>
                <a href={`#/${id}`} className="nav-item" aria-current={view === id ? 'page' : undefined}>
                  <Icon name={icon} />
                  <span>{title}</span>
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <div className="sidebar-foot">
          <Button tone="quiet" onClick={onSignedOut}>
            Sign out
          </Button>
          <ThemeButton />
        </div>
      </header>
      <div className="content">
        <main id="content" className="view" tabIndex={-1}>
          <ErrorBoundary key={view}>
            <View onSignedOut={onSignedOut} />
          </ErrorBoundary>
        </main>
      </div>
      <Notices />
    </div>
  )
}

const readAudit = () => act<{ readonly entries: readonly Json[] }>('GET', 'audit', 'log')
const verifyAudit = () => act<{ readonly ok: boolean }>('POST', 'audit', 'verify')

function Audit(_: ViewProps) {
  return <AuditLog read={readAudit} verify={verifyAudit} />
}

function SignIn({ onSignedIn }: { readonly onSignedIn: () => void }) {
  const [token, setToken] = useState('')
  const [isWrong, setWrong] = useState(false)
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    const isIn = await signIn(token.trim()).catch(() => false)
    setWrong(!isIn)
    if (isIn) onSignedIn()
  }
  return (
    <main className="alone">
      <img src="/icon.svg" alt="" width="48" height="48" />
      <h1>Administration of the gateway</h1>
      <p>
        <code>plugboard serve --http --ui</code> prints an address that signs you in once. Later the token of
        the administration does: the command says which file holds it.
      </p>
      <form className="sign-in" onSubmit={(event) => void submit(event)}>
        <label className="field-label" htmlFor="token">
          Token of the administration
        </label>
        <input
          id="token"
          type="password"
          autoComplete="off"
          required
          value={token}
          onChange={(event) => setToken(event.target.value)}
        />
        {isWrong && <Problem title="This is not the token of the administration." />}
        <Button type="submit" tone="primary">
          Sign in
        </Button>
      </form>
    </main>
  )
}
