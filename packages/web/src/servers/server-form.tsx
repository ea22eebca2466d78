// server-form.tsx: a new server, or another entry for one: by fields or as JSON, and the change of the file before it is
// written.
import { type FormEvent, useEffect, useId, useState } from 'react'
import { failureOf } from '../connection/request-failed.ts'
import { Button, Problem } from '../parts/basics.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Diff } from '../parts/diff.tsx'
import { go } from '../routes.ts'
import { attempt, notify, request } from '../state/board.ts'
import { type Draft, draftOf, EMPTY_DRAFT, entryOf } from './server-draft.ts'

type Scope = 'local' | 'project' | 'user'

interface Preview {
  readonly file: string
  readonly before: string | null
  readonly after: string
  readonly seen: string
}

export function ServerForm({
  name: given,
  onClose,
}: {
  readonly name?: string
  readonly onClose: () => void
}) {
  const [name, setName] = useState(given ?? '')
  const [scope, setScope] = useState<Scope>('local')
  const [draft, setDraft] = useState<Draft>(EMPTY_DRAFT)
  const [preview, setPreview] = useState<Preview>()
  const [failure, setFailure] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    if (given === undefined) return
    void attempt(async () => {
      const { entry, scope: from } = await request<{ entry: unknown; scope: string | null }>('config/entry', {
        name: given,
      })
      setDraft(draftOf(entry))
      if (from === 'local' || from === 'project' || from === 'user') setScope(from)
    })
  }, [given])
  const run = async (work: () => Promise<void>) => {
    setBusy(true)
    setFailure(undefined)
    try {
      await work()
    } catch (error) {
      const { message, hint } = failureOf(error)
      setFailure(hint === undefined ? message : `${message} ${hint}`)
    }
    setBusy(false)
  }
  const look = (event: FormEvent) => {
    event.preventDefault()
    void run(async () =>
      setPreview(await request<Preview>('config/preview', { name, scope, entry: entryOf(draft) })),
    )
  }
  const write = () =>
    run(async () => {
      await request('config/write', { name, scope, entry: entryOf(draft), seen: preview?.seen ?? '' })
      notify(`${name} was written to ${preview?.file ?? 'the file'}.`, 'good')
      onClose()
      go('servers', name)
    })
  const title = given === undefined ? 'Add a server' : `Edit ${given}`
  if (preview)
    return (
      <Dialog
        title={title}
        open
        onClose={onClose}
        wide
        actions={
          <>
            <Button onClick={() => setPreview(undefined)}>Back</Button>
            <Button tone="primary" busy={isBusy} onClick={() => void write()}>
              Write this change
            </Button>
          </>
        }
      >
        {failure !== undefined && <Problem title={failure} />}
        <p>This is what changes in the file. Nothing else is touched.</p>
        <Diff before={preview.before ?? ''} after={preview.after} file={preview.file} />
      </Dialog>
    )
  return (
    <Dialog title={title} open onClose={onClose} wide>
      <form className="form" onSubmit={look}>
        {failure !== undefined && <Problem title={failure} />}
        <Text label="Name" value={name} onChange={setName} required readOnly={given !== undefined} />
        <DraftFields draft={draft} onChange={setDraft} />
        <Choice
          label="Where it is written"
          value={scope}
          onChange={(value) => setScope(value as Scope)}
          options={[
            ['local', 'This project, only you'],
            ['project', 'This project, everybody (shared file)'],
            ['user', 'All your projects'],
          ]}
        />
        <div className="actions actions-end">
          <Button onClick={onClose}>Cancel</Button>
          <Button tone="primary" type="submit" busy={isBusy}>
            Show the change
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

function DraftFields({
  draft,
  onChange,
}: {
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
}) {
  const set = (change: Partial<Draft>) => onChange({ ...draft, ...change })
  return (
    <>
      <Choice
        label="How it is reached"
        value={draft.kind}
        onChange={(kind) =>
          set({
            kind: kind as Draft['kind'],
            ...(kind === 'json' && { json: JSON.stringify(entryOf(draft), null, 2) }),
          })
        }
        options={[
          ['command', 'A command that runs here'],
          ['http', 'A URL (HTTP)'],
          ['sse', 'A URL (SSE)'],
          ['ws', 'A URL (WebSocket)'],
          ['json', 'Written as JSON'],
        ]}
      />
      {draft.kind === 'command' && (
        <>
          <Text
            label="Command"
            value={draft.command}
            onChange={(command) => set({ command })}
            required
            mono
          />
          <Text
            label="Arguments, one a line"
            value={draft.args}
            onChange={(args) => set({ args })}
            rows={3}
            mono
          />
          <Text
            label="Environment, NAME=value a line"
            value={draft.env}
            onChange={(env) => set({ env })}
            rows={2}
            mono
            hint={'Name a variable of yours instead of a secret: TOKEN=${MY_TOKEN}'}
          />
        </>
      )}
      {(draft.kind === 'http' || draft.kind === 'sse' || draft.kind === 'ws') && (
        <>
          <Text label="URL" value={draft.url} onChange={(url) => set({ url })} required mono />
          <Text
            label="Headers, Name: value a line"
            value={draft.headers}
            onChange={(headers) => set({ headers })}
            rows={2}
            mono
            hint={'Name a variable of yours instead of a secret: Authorization: Bearer ${MY_TOKEN}'}
          />
        </>
      )}
      {draft.kind === 'json' && (
        <Text label="Entry" value={draft.json} onChange={(json) => set({ json })} rows={10} required mono />
      )}
    </>
  )
}

interface TextProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly required?: boolean
  readonly readOnly?: boolean
  readonly rows?: number
  readonly mono?: boolean
  readonly hint?: string
}

function Text({
  label,
  value,
  onChange,
  required = false,
  readOnly = false,
  rows,
  mono = false,
  hint,
}: TextProps) {
  const id = useId()
  const shared = {
    id,
    value,
    required,
    readOnly,
    className: mono ? 'mono' : '',
    spellCheck: false,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  }
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      {rows === undefined ? <input {...shared} /> : <textarea {...shared} rows={rows} />}
      {hint !== undefined && <span className="field-hint">{hint}</span>}
    </div>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly options: readonly (readonly [string, string])[]
}

function Choice({ label, value, onChange, options }: ChoiceProps) {
  return (
    <label className="field">
      <span className="field-label">{label}</span>
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {options.map(([id, text]) => (
          <option key={id} value={id}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
