// admin-servers.tsx: what the gateway serves and how: servers with their state and switches, and limits.
import { Button, Facts, StateMark, type StateTone } from '../parts/basics.tsx'
import { duration } from '../parts/format.ts'
import { ConfirmButton, Grid, type GridProps, Pane, useFacts, type ViewProps } from './admin-parts.tsx'

interface ServerRow {
  readonly name: string
  readonly type?: string
  readonly state: string
  readonly tools: number
  /** Calls that run now. */
  readonly running?: number
  readonly circuit?: { readonly state?: string }
  readonly error?: string
  readonly reason?: string
  /** By an administrator. */
  readonly switchedOff?: boolean
}

const TONES: Readonly<Record<string, StateTone>> = {
  connected: 'good',
  failed: 'bad',
  pending: 'wait',
  draining: 'warn',
  'needs-auth': 'warn',
}

export function ServersView({ onSignedOut }: ViewProps) {
  const { facts, problem, run } = useFacts<{ readonly servers: readonly ServerRow[] }>('servers', onSignedOut)
  return (
    <Pane title="Servers" isRead={facts !== undefined} problem={problem}>
      <Grid
        columns={['Server', 'State', 'Transport', 'Tools', 'Running', 'Actions']}
        rows={(facts?.servers ?? []).map(
          ({ name, state, type, tools, running, circuit, error, reason, switchedOff }) => ({
            key: name,
            cells: [
              <div key="name">
                {name}
                {(error ?? reason) !== undefined && <div className="row-sub">{error ?? reason}</div>}
              </div>,
              <StateMark key="state" tone={TONES[state] ?? 'off'}>
                {state}
                {circuit?.state !== undefined && circuit.state !== 'closed' && `, circuit ${circuit.state}`}
              </StateMark>,
              type ?? '',
              String(tools),
              String(running ?? 0),
              <ServerActions
                key="act"
                name={name}
                state={state}
                isOff={switchedOff === true || state === 'draining'}
                run={run}
              />,
            ],
          }),
        )}
        icon="servers"
        empty="No server is served"
      />
    </Pane>
  )
}

type Run = ReturnType<typeof useFacts>['run']

function ServerActions({
  name,
  state,
  isOff,
  run,
}: {
  readonly name: string
  readonly state: string
  readonly isOff: boolean
  readonly run: Run
}) {
  const on = (
    <Button onClick={() => run(`${name} is on again.`, 'POST', 'servers', name, 'enable')}>
      {state === 'draining' ? 'Go on' : 'Switch on'}
    </Button>
  )
  if (isOff) return <div className="actions">{on}</div>
  // Off by the configuration: its reason is beside it, and no switch here changes that.
  if (state === 'disabled') return null
  return (
    <div className="actions">
      <Button onClick={() => run(`${name} was reconnected.`, 'POST', 'servers', name, 'reconnect')}>
        Reconnect
      </Button>
      <ConfirmButton
        label="Drain"
        sure="Let its calls end, then off"
        onConfirm={() => run(`${name} was drained.`, 'POST', 'servers', name, 'drain')}
      />
      <ConfirmButton
        label="Switch off"
        sure="Switch it off for everyone"
        onConfirm={() => run(`${name} is off.`, 'POST', 'servers', name, 'disable')}
      />
    </div>
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
      <Grid
        columns={['Limit', 'Value']}
        rows={Object.entries(facts?.gateway ?? {}).map(([name, value]) => ({
          key: name,
          cells: [<code key="name">{name}</code>, limitValue(name, value)],
        }))}
        icon="health"
        empty="The gateway told no limits"
      />
    </Pane>
  )
}

/** The names of times end with their unit. */
function limitValue(name: string, value: unknown): string {
  if (typeof value !== 'number') return String(value)
  return name.endsWith('Ms') ? duration(value) : value.toLocaleString('en')
}

/** Each number of the limits, with the way to it. */
function limitRows(way: readonly string[], value: unknown): GridProps['rows'] {
  if (typeof value !== 'object' || value === null)
    return [{ key: way.join(' '), cells: [way.join(' › '), limitValue('', value)] }]
  return Object.entries(value).flatMap(([name, inner]) => limitRows([...way, name], inner))
}
