// server-detail.tsx: one server: what it is, what can be done with it, its log, why it is as it is.
import { useState } from 'react'
import { Button, Chip, Code, Facts, IconButton, Problem } from '../parts/basics.tsx'
import { duration, plural } from '../parts/format.ts'
import { RichText } from '../parts/rich-text.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { addressOf } from '../routes.ts'
import { attempt, board, request, stopServer } from '../state/board.ts'
import { useStore } from '../state/store.ts'
import type { Server } from '../state/types.ts'
import { ApproveDialog } from './approve-dialog.tsx'
import { Doctor, Explanation } from './diagnosis.tsx'
import { LogView } from './log-view.tsx'
import { LoginDialog } from './login-dialog.tsx'
import { ServerForm } from './server-form.tsx'
import { ServerState } from './server-state.tsx'

interface ServerDetailProps {
  readonly server: Server
  readonly tab: string
  readonly onTab: (id: string) => void
  readonly onClose: () => void
}

export function ServerDetail({ server, tab, onTab, onClose }: ServerDetailProps) {
  const isPending = useStore(board, (state) => state.pending.some(({ name }) => name === server.name))
  return (
    <section className="pane detail" aria-labelledby="server-title">
      <header className="pane-head">
        <h2 id="server-title">{server.name}</h2>
        <ServerState server={server} waits={isPending} />
        <div className="pane-actions">
          <IconButton icon="close" label="Close" onClick={onClose} />
        </div>
      </header>
      <ServerActions server={server} isPending={isPending} />
      <Tabs
        label={`About ${server.name}`}
        selected={tab}
        onSelect={onTab}
        tabs={[
          {
            id: 'overview',
            title: 'Overview',
            content: () => <Overview server={server} isPending={isPending} />,
          },
          { id: 'logs', title: 'Logs', content: () => <LogView server={server.name} /> },
          { id: 'explain', title: 'Explain', content: () => <Explanation name={server.name} /> },
          { id: 'doctor', title: 'Doctor', content: () => <Doctor name={server.name} /> },
        ]}
      />
    </section>
  )
}

type Opened = 'approve' | 'login' | 'edit' | undefined

function ServerActions({ server, isPending }: { readonly server: Server; readonly isPending: boolean }) {
  const { name, state } = server
  const [busy, setBusy] = useState<string>()
  const [opened, setOpened] = useState<Opened>()
  const close = () => setOpened(undefined)
  const act = async (id: string, work: () => Promise<unknown>, done?: string) => {
    setBusy(id)
    await attempt(work, done)
    setBusy(undefined)
  }
  const isOff = state === 'disabled' && !isPending
  return (
    <div className="actions">
      {isPending && (
        <Button tone="primary" icon="lock" onClick={() => setOpened('approve')}>
          Approve…
        </Button>
      )}
      {state === 'needs-auth' && (
        <Button tone="primary" icon="lock" onClick={() => setOpened('login')}>
          Log in…
        </Button>
      )}
      {!isOff && !isPending && (
        <Button
          icon={state === 'pending' ? 'play' : 'again'}
          busy={busy === 'reconnect'}
          onClick={() => void act('reconnect', () => request('board/reconnect', { server: name }))}
        >
          {state === 'pending' ? 'Start' : 'Reconnect'}
        </Button>
      )}
      {state === 'connected' && (
        <Button
          icon="stop"
          busy={busy === 'stop'}
          onClick={() => void act('stop', () => stopServer(name), `${name} was stopped.`)}
        >
          Stop
        </Button>
      )}
      {!isPending && (
        <Button
          busy={busy === 'enable'}
          onClick={() => void act('enable', () => request('config/enable', { name, enabled: isOff }))}
        >
          {isOff ? 'Enable' : 'Disable'}
        </Button>
      )}
      <Button icon="edit" onClick={() => setOpened('edit')}>
        Edit…
      </Button>
      {opened === 'approve' && <ApproveDialog names={[name]} onClose={close} />}
      {opened === 'login' && <LoginDialog server={name} onClose={close} />}
      {opened === 'edit' && <ServerForm name={name} onClose={close} />}
    </div>
  )
}

function Overview({ server, isPending }: { readonly server: Server; readonly isPending: boolean }) {
  const failure = server.error?.$error
  const { serverInfo, protocolVersion, connectMs, capabilities, instructions } = server
  return (
    <div className="stack">
      {failure && (
        <Problem title={failure.message}>
          {failure.hint}
          {failure.stage !== undefined && <div className="dim">Stopped at: {failure.stage}</div>}
        </Problem>
      )}
      {server.reason !== undefined && !isPending && <Problem title={server.reason} />}
      {isPending && <p className="dim">Nothing of it runs before you approve it.</p>}
      <Facts
        rows={[
          ['Name', serverInfo?.title ?? serverInfo?.name],
          ['Version', serverInfo?.version],
          ['Transport', server.type],
          ['Protocol', protocolVersion],
          ['Connected in', connectMs === undefined ? undefined : duration(connectMs)],
          ['Scope', server.scope],
          ['Defined in', <code key="source">{server.source}</code>],
          [
            'Capabilities',
            capabilities && Object.keys(capabilities).map((one) => <Chip key={one}>{one}</Chip>),
          ],
        ]}
      />
      <ToolsOf server={server.name} />
      {server.state === 'connected' && (
        <p className="dim">
          {plural(server.resources, 'resource')}, {plural(server.prompts, 'prompt')}
        </p>
      )}
      {instructions !== undefined && (
        <details>
          <summary>Instructions for the model</summary>
          <RichText text={instructions} />
        </details>
      )}
      <details>
        <summary>All facts as JSON</summary>
        <Code label="Server as JSON">{JSON.stringify(server, null, 2)}</Code>
      </details>
    </div>
  )
}

const TOOLS_SHOWN = 12

function ToolsOf({ server }: { readonly server: string }) {
  const tools = useStore(board, (state) => state.tools)
  const own = (tools ?? []).filter((tool) => tool.server === server)
  if (own.length === 0) return null
  return (
    <div>
      <h3 className="section-title">{plural(own.length, 'tool')}</h3>
      <ul className="tool-chips">
        {own.slice(0, TOOLS_SHOWN).map((tool) => (
          <li key={tool.name}>
            <a href={addressOf('tools', tool.name)} className="chip chip-link" title={tool.description}>
              {tool.tool}
            </a>
          </li>
        ))}
        {own.length > TOOLS_SHOWN && <li className="dim">and {own.length - TOOLS_SHOWN} more</li>}
      </ul>
    </div>
  )
}
