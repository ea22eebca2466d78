// call-panel.tsx: arguments by form or as JSON, the call with its progress, and the results of earlier calls to repeat.
import { Menu, MenuButton, MenuItem, MenuProvider } from '@ariakit/react'
import { type FormEvent, useRef, useState } from 'react'
import { appAddress } from '../apps/app-address.ts'
import { AppPanel } from '../apps/app-panel.tsx'
import { failureOf, type RequestFailed } from '../connection/request-failed.ts'
import { Button, Problem } from '../parts/basics.tsx'
import { Text } from '../parts/fields.tsx'
import { clock, duration } from '../parts/format.ts'
import { Icon } from '../parts/icon.tsx'
import { ResultView, type ToolResult } from '../results/result-view.tsx'
import { notify, request } from '../state/board.ts'
import type { Json, WireTool } from '../state/types.ts'
import { asCommand, asJsonRpc, asTypeScript } from './copy-as.ts'
import { firstValue, isObject, withoutEmpty } from './schema.ts'
import { ObjectFields } from './schema-form.tsx'

interface Progress {
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

interface Call {
  readonly id: number
  readonly args: Json
  readonly startedAt: number
  readonly endedAt?: number
  readonly progress?: Progress
  readonly result?: ToolResult
  readonly failure?: RequestFailed
}

const KEPT = 20

/** The calls of this panel, newest first; each can be cancelled. */
function useCalls(name: string) {
  const [calls, setCalls] = useState<readonly Call[]>([])
  const running = useRef(new Map<number, AbortController>())
  const update = (id: number, change: Partial<Call>) =>
    setCalls((all) => all.map((call) => (call.id === id ? { ...call, ...change } : call)))
  const run = async (args: Json) => {
    const id = Date.now()
    const controller = new AbortController()
    running.current.set(id, controller)
    setCalls((all) => [{ id, args, startedAt: Date.now() }, ...all].slice(0, KEPT))
    try {
      const result = await request<ToolResult>(
        'board/call',
        { name, args, context: { maxResultChars: null, keepAnswer: true } },
        { signal: controller.signal, onProgress: (value) => update(id, { progress: value as Progress }) },
      )
      update(id, { result, endedAt: Date.now() })
    } catch (error) {
      update(id, { failure: failureOf(error), endedAt: Date.now() })
    }
    running.current.delete(id)
  }
  const cancel = () => {
    for (const controller of running.current.values()) controller.abort()
  }
  return { calls, run, cancel, isRunning: calls.some(({ endedAt }) => endedAt === undefined) }
}

interface CallPanelProps {
  readonly tool: WireTool
  /** Arguments that the form starts with, as JSON. */
  readonly given: string | undefined
}

export function CallPanel({ tool, given }: CallPanelProps) {
  const schema = tool.definition.inputSchema
  const [args, setArgs] = useState<Json>(() => parsedArgs(given) ?? asArgs(firstValue(schema, schema, true)))
  const [version, setVersion] = useState(0)
  const [json, setJson] = useState<string>()
  const { calls, run, cancel, isRunning } = useCalls(tool.name)
  const current = (): Json => (json === undefined ? asArgs(withoutEmpty(args)) : asArgs(JSON.parse(json)))
  const submit = (event: FormEvent) => {
    event.preventDefault()
    try {
      void run(current())
    } catch {
      notify('The arguments are not valid JSON.', 'bad')
    }
  }
  const restore = (restored: Json) => {
    setArgs(restored)
    setJson((text) => (text === undefined ? undefined : JSON.stringify(restored, null, 2)))
    setVersion(version + 1)
  }
  return (
    <div className="stack">
      <form className="form" onSubmit={submit} aria-label={`Call ${tool.definition.name}`}>
        <ArgumentMode
          isJson={json !== undefined}
          onJson={() => setJson(JSON.stringify(current(), null, 2))}
          onForm={() => toForm(json, restore, setJson)}
        />
        {json === undefined ? (
          <FormArguments key={version} schema={schema} args={args} onChange={setArgs} />
        ) : (
          <Text label="Arguments as JSON" value={json} onChange={setJson} rows={10} mono />
        )}
        <div className="actions">
          <Button tone="primary" icon="play" type="submit">
            Call
          </Button>
          {isRunning && (
            <Button icon="stop" onClick={cancel}>
              Cancel
            </Button>
          )}
          <CopyMenu tool={tool} args={current} />
        </div>
      </form>
      <Calls tool={tool} calls={calls} onRepeat={(again) => void run(again)} onRestore={restore} />
    </div>
  )
}

interface FormArgumentsProps {
  readonly schema: Json
  readonly args: Json
  readonly onChange: (args: Json) => void
}

function FormArguments({ schema, args, onChange }: FormArgumentsProps) {
  const takesNone =
    Object.keys((schema['properties'] ?? {}) as object).length === 0 &&
    schema['additionalProperties'] === undefined
  return (
    <div className="form">
      <ObjectFields
        schema={schema}
        root={schema}
        value={args}
        depth={0}
        onChange={(value) => onChange(asArgs(value))}
      />
      {takesNone && <p className="dim">It takes no arguments.</p>}
    </div>
  )
}

interface CallsProps {
  readonly tool: WireTool
  readonly calls: readonly Call[]
  readonly onRepeat: (args: Json) => void
  readonly onRestore: (args: Json) => void
}

function Calls({ tool, calls, onRepeat, onRestore }: CallsProps) {
  return (
    <ol className="calls" aria-label="Calls" aria-live="polite">
      {calls.map((call, at) => (
        <li key={call.id}>
          <CallOutcome
            tool={tool}
            call={call}
            isNewest={at === 0}
            onRepeat={() => onRepeat(call.args)}
            onRestore={() => onRestore(call.args)}
          />
        </li>
      ))}
    </ol>
  )
}

function asArgs(value: unknown): Json {
  return isObject(value) ? value : {}
}

function toForm(
  json: string | undefined,
  restore: (args: Json) => void,
  setJson: (json: undefined) => void,
): void {
  try {
    restore(asArgs(JSON.parse(json ?? '{}')))
    setJson(undefined)
  } catch {
    notify('This is not valid JSON, so it cannot become a form.', 'bad')
  }
}

interface ArgumentModeProps {
  readonly isJson: boolean
  readonly onJson: () => void
  readonly onForm: () => void
}

function ArgumentMode({ isJson, onJson, onForm }: ArgumentModeProps) {
  return (
    <fieldset className="segments">
      <legend className="visually-hidden">How the arguments are written</legend>
      <button type="button" aria-pressed={!isJson} onClick={isJson ? onForm : undefined}>
        Form
      </button>
      <button type="button" aria-pressed={isJson} onClick={isJson ? undefined : onJson}>
        JSON
      </button>
    </fieldset>
  )
}

function CopyMenu({ tool, args }: { readonly tool: WireTool; readonly args: () => Json }) {
  const copy = (make: (tool: WireTool, args: Json) => string, what: string) => {
    try {
      void navigator.clipboard.writeText(make(tool, args())).then(() => notify(`Copied as ${what}.`, 'good'))
    } catch {
      notify('The arguments are not valid JSON.', 'bad')
    }
  }
  return (
    <MenuProvider>
      <MenuButton className="button button-plain">
        <Icon name="copy" size={14} /> Copy as <Icon name="down" size={12} />
      </MenuButton>
      <Menu className="menu" gutter={4}>
        <MenuItem className="menu-item" onClick={() => copy(asCommand, 'a command')}>
          Command (plugboard call)
        </MenuItem>
        <MenuItem className="menu-item" onClick={() => copy(asTypeScript, 'TypeScript')}>
          TypeScript
        </MenuItem>
        <MenuItem className="menu-item" onClick={() => copy(asJsonRpc, 'JSON-RPC')}>
          JSON-RPC
        </MenuItem>
      </Menu>
    </MenuProvider>
  )
}

interface CallOutcomeProps {
  readonly tool: WireTool
  readonly call: Call
  readonly isNewest: boolean
  readonly onRepeat: () => void
  readonly onRestore: () => void
}

function CallOutcome({ tool, call, isNewest, onRepeat, onRestore }: CallOutcomeProps) {
  const { startedAt, endedAt, progress, result, failure } = call
  const app = appAddress(tool.definition)
  // The user's own decision: no failure of the tool.
  const isCancelled = failure?.code === 'CANCELLED'
  const isBad = (failure && !isCancelled) || result?.isError
  const state =
    endedAt === undefined
      ? 'running…'
      : failure
        ? failure.code.toLowerCase().replaceAll('_', ' ')
        : result?.isError
          ? 'tool error'
          : 'done'
  return (
    <details
      className={`call call-${isBad ? 'bad' : endedAt === undefined ? 'running' : isCancelled ? 'off' : 'good'}`}
      open={isNewest}
    >
      <summary>
        <span className="call-state">{state}</span> <span className="dim">{clock(startedAt)}</span>
        {endedAt !== undefined && <span className="dim"> {duration(endedAt - startedAt)}</span>}
        <span className="call-args ellipsis">{JSON.stringify(call.args)}</span>
      </summary>
      {endedAt === undefined && <ProgressBar progress={progress} />}
      {failure && !isCancelled && <Problem title={failure.message}>{failure.hint}</Problem>}
      {result && app !== undefined && <AppPanel tool={tool} address={app} args={call.args} result={result} />}
      {result && <ResultView result={result} schema={tool.definition.outputSchema} server={tool.server} />}
      {endedAt !== undefined && (
        <div className="actions">
          <Button icon="again" onClick={onRepeat}>
            Repeat
          </Button>
          <Button onClick={onRestore}>Edit these arguments</Button>
        </div>
      )}
    </details>
  )
}

function ProgressBar({ progress }: { readonly progress: Progress | undefined }) {
  const total = progress?.total
  return (
    <div className="progress">
      <progress
        aria-label="Progress of the call"
        {...(progress && total !== undefined && total > 0 && { value: progress.progress, max: total })}
      />
      <span className="dim">
        {progress
          ? `${progress.progress}${total === undefined ? '' : ` of ${total}`} ${progress.message ?? ''}`
          : 'Waiting for the server…'}
      </span>
    </div>
  )
}

/** Of an address, so it may be anything. */
function parsedArgs(text: string | undefined): Json | undefined {
  try {
    const value: unknown = text === undefined ? undefined : JSON.parse(text)
    return isObject(value) ? value : undefined
  } catch {
    // Then the form starts empty.
    return undefined
  }
}
