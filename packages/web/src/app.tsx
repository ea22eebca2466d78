// app.tsx: the frame around all views: navigation, the state of the connection, notices, the command palette.
import { lazy, Suspense, useEffect, useState } from 'react'
import { CommandPalette } from './palette.tsx'
import { Loading } from './parts/basics.tsx'
import { ErrorBoundary } from './parts/error-boundary.tsx'
import { Icon, type IconName } from './parts/icon.tsx'
import { Notices } from './parts/notices.tsx'
import { useScrollIntoView } from './parts/scroll-into-view.ts'
import { ThemeButton } from './parts/theme-button.tsx'
import { addressOf, useRoute, type View } from './routes.ts'
import { ServersView } from './servers/servers-view.tsx'
import { board, retryNow } from './state/board.ts'
import { useStore } from './state/store.ts'

const ToolsView = lazy(() => import('./tools/tools-view.tsx'))
const ResourcesView = lazy(() => import('./offers/resources-view.tsx'))
const PromptsView = lazy(() => import('./offers/prompts-view.tsx'))
const SkillsView = lazy(() => import('./offers/skills-view.tsx'))
const TimelineView = lazy(() => import('./timeline/timeline-view.tsx'))
const DecideView = lazy(() => import('./questions/decide-view.tsx'))
const HealthView = lazy(() => import('./health/health-view.tsx'))
const AuditView = lazy(() => import('./health/audit-view.tsx'))

const NAVIGATION: readonly (readonly [View, string, IconName])[] = [
  ['servers', 'Servers', 'servers'],
  ['tools', 'Tools', 'tools'],
  ['resources', 'Resources', 'resources'],
  ['prompts', 'Prompts', 'prompts'],
  ['skills', 'Skills', 'skills'],
  ['timeline', 'Timeline', 'timeline'],
  ['decide', 'Decide', 'decide'],
  ['health', 'Health', 'health'],
  ['audit', 'Audit', 'audit'],
]

export function App() {
  const { view, path } = useRoute()
  const link = useStore(board, (state) => state.link)
  const problem = useStore(board, (state) => state.problem)
  const isOpened = useStore(board, (state) => state.info !== undefined)
  const [isPaletteOpen, setPaletteOpen] = useState(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        setPaletteOpen(true)
      }
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  if (link === 'refused') return <Refused />
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => document.getElementById('content')?.focus()}>
        Skip to content
      </button>
      <Sidebar view={view} onPalette={() => setPaletteOpen(true)} />
      <div className="content">
        {link === 'lost' && <Disconnected />}
        <main id="content" className="view" tabIndex={-1}>
          {problem !== undefined ? (
            <BoardProblem text={problem} />
          ) : isOpened ? (
            <ErrorBoundary key={view}>
              <Suspense fallback={<Loading>Loading…</Loading>}>
                <Shown view={view} path={path} />
              </Suspense>
            </ErrorBoundary>
          ) : (
            <Loading>Opening the board…</Loading>
          )}
        </main>
      </div>
      <Notices />
      <CommandPalette open={isPaletteOpen} onClose={() => setPaletteOpen(false)} />
    </div>
  )
}

function Shown({ view, path }: { readonly view: View; readonly path: readonly string[] }) {
  switch (view) {
    case 'servers':
      return <ServersView selected={path[0]} tab={path[1]} />
    case 'tools':
      return <ToolsView selected={path[0]} given={path[1]} />
    case 'resources':
      return <ResourcesView />
    case 'prompts':
      return <PromptsView />
    case 'skills':
      return <SkillsView />
    case 'timeline':
      return <TimelineView selected={path[0]} />
    case 'decide':
      return <DecideView />
    case 'health':
      return <HealthView />
    case 'audit':
      return <AuditView />
  }
}

function Sidebar({ view, onPalette }: { readonly view: View; readonly onPalette: () => void }) {
  const info = useStore(board, (state) => state.info)
  const waiting = useStore(board, (state) => state.questions.length + state.pending.length)
  const strip = useScrollIntoView(view)
  const folder = info?.cwd.split('/').filter(Boolean).at(-1) ?? ''
  return (
    <header className="sidebar">
      <div className="brand">
        <img src="/icon.svg" alt="" width="24" height="24" />
        <div>
          <div className="brand-name">Plugboard</div>
          <div className="brand-folder" title={info?.cwd}>
            {folder}
          </div>
        </div>
      </div>
      <button type="button" className="palette-button" onClick={onPalette}>
        <Icon name="search" size={14} /> <span>Go to…</span> <kbd>Ctrl K</kbd>
      </button>
      <nav ref={strip} aria-label="Views">
        <ul className="navigation">
          {NAVIGATION.map(([id, title, icon]) => (
            <li key={id}>
              <a href={addressOf(id)} className="nav-item" aria-current={view === id ? 'page' : undefined}>
                <Icon name={icon} />
                <span>{title}</span>
                {id === 'decide' && waiting > 0 && (
                  <span className="badge">
                    {waiting}
                    <span className="visually-hidden"> waiting</span>
                  </span>
                )}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div className="sidebar-foot">
        <LinkState />
        <ThemeButton />
      </div>
    </header>
  )
}

function LinkState() {
  const link = useStore(board, (state) => state.link)
  const info = useStore(board, (state) => state.info)
  const text =
    link === 'open' ? `Live · ${info?.version ?? ''}` : link === 'lost' ? 'Disconnected' : 'Connecting…'
  return (
    <span className={`link-state link-${link}`} role="status">
      <span className="state-dot" aria-hidden="true" />
      {text}
    </span>
  )
}

function Disconnected() {
  return (
    <div className="banner" role="alert">
      <Icon name="warning" />
      <span>
        The resident board does not answer. What you see is its last state; the page goes on as soon as the
        board is back. Any <code>plugboard</code> command that uses it starts it again.
      </span>
      <button type="button" className="button button-plain" onClick={retryNow}>
        Try now
      </button>
    </div>
  )
}

/** Neither a token nor a session that the process knows. */
function Refused() {
  return (
    <main className="alone">
      <img src="/icon.svg" alt="" width="48" height="48" />
      <h1>This page has no session</h1>
      <p>
        An address of <code>plugboard ui</code> works once. Run the command again to get a new one:
      </p>
      <pre className="alone-command">plugboard ui</pre>
    </main>
  )
}

function BoardProblem({ text }: { readonly text: string }) {
  return (
    <div className="alone">
      <Icon name="warning" size={32} />
      <h1>The board could not be opened</h1>
      <p>{text}</p>
    </div>
  )
}
