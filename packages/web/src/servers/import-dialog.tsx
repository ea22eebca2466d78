// import-dialog.tsx: the servers of other clients on this machine, to be taken over.
import { useEffect, useState } from 'react'
import { Button, Code, Empty, Loading, Problem } from '../parts/basics.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { attempt, board, notify, request } from '../state/board.ts'
import { useStore } from '../state/store.ts'

interface Client {
  readonly client: string
  readonly title: string
  readonly servers: readonly {
    readonly name: string
    readonly entry: unknown
    readonly file: string
    readonly ofProject: boolean
  }[]
  readonly problems: readonly string[]
}

interface Outcome {
  readonly name: string
  readonly outcome: string
  readonly message?: string
}

export function ImportDialog({ onClose }: { readonly onClose: () => void }) {
  const [clients, setClients] = useState<readonly Client[]>()
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    void attempt(async () => setClients(await request<readonly Client[]>('config/clients')))
  }, [])
  const toggle = (key: string) => {
    const next = new Set(chosen)
    if (!next.delete(key)) next.add(key)
    setChosen(next)
  }
  const run = async () => {
    setBusy(true)
    for (const { client, servers } of clients ?? []) {
      const names = servers.map(({ name }) => name).filter((name) => chosen.has(`${client} ${name}`))
      if (names.length === 0) continue
      const outcomes = await attempt(() => request<readonly Outcome[]>('config/import', { client, names }))
      for (const { name, outcome, message } of outcomes ?? [])
        notify(message ?? `${name}: ${outcome}`, outcome === 'refused' ? 'bad' : 'good')
    }
    setBusy(false)
    onClose()
  }
  return (
    <Dialog
      title="Import from other clients"
      open
      onClose={onClose}
      wide
      actions={
        <Button tone="primary" disabled={chosen.size === 0} busy={isBusy} onClick={() => void run()}>
          Import {chosen.size === 0 ? '' : chosen.size}
        </Button>
      }
    >
      {!clients && <Loading>Looking for other clients…</Loading>}
      {clients?.length === 0 && <Empty icon="servers" title="No other client has servers here" />}
      {clients?.map((client) => (
        <ClientServers
          key={client.client}
          {...client}
          isChosen={(name) => chosen.has(`${client.client} ${name}`)}
          onToggle={(name) => toggle(`${client.client} ${name}`)}
        />
      ))}
    </Dialog>
  )
}

interface ClientServersProps extends Client {
  readonly isChosen: (name: string) => boolean
  readonly onToggle: (name: string) => void
}

function ClientServers({ title, servers, problems, isChosen, onToggle }: ClientServersProps) {
  const known = useStore(board, (state) => state.servers)
  return (
    <fieldset className="card">
      <legend>{title}</legend>
      {problems.map((problem) => (
        <Problem key={problem} title={problem} />
      ))}
      {servers.map(({ name, entry, file }) => {
        const isKnown = known.some((one) => one.name === name)
        return (
          <div key={name} className="import-row">
            <label className="check">
              <input
                type="checkbox"
                disabled={isKnown}
                checked={isChosen(name)}
                onChange={() => onToggle(name)}
              />
              <strong>{name}</strong> {isKnown && <span className="dim">is on the board already</span>}
            </label>
            <span className="dim break">{file}</span>
            <Code label={`Entry of ${name}`}>{JSON.stringify(entry, null, 2)}</Code>
          </div>
        )
      })}
    </fieldset>
  )
}
