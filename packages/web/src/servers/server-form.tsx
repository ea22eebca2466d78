// server-form.tsx: a new server, or another entry for one: by fields or as JSON, and the change of the file before it is
// written.
import { type FormEvent, useEffect, useState } from 'react'
import { Button, Problem } from '../parts/basics.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Text } from '../parts/fields.tsx'
import { ChangeDialog, type Preview, useWork } from '../parts/file-change.tsx'
import { go } from '../routes.ts'
import { attempt, notify, request } from '../state/board.ts'
import { type Draft, draftOf, EMPTY_DRAFT, entryOf } from './server-draft.ts'

type Scope = 'local' | 'project' | 'user'

const SCOPES = [
  ['local', 'This project, only you'],
  ['project', 'This project, everybody (shared file)'],
  ['user', 'All your projects'],
] as const

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
  const work = useWork()
  useEntry(given, setDraft, setScope)
  const change = () => ({ name, scope, entry: entryOf(draft) })
  const look = (event: FormEvent) => {
    event.preventDefault()
    work.run(async () => setPreview(await request<Preview>('config/preview', change())))
  }
  const write = async () => {
    await request('config/write', { ...change(), seen: preview?.seen ?? '' })
    notify(`${name} was written to ${preview?.file ?? 'the file'}.`, 'good')
    onClose()
    go('servers', name)
  }
  const title = given === undefined ? 'Add a server' : `Edit ${given}`
  if (preview)
    return (
      <ChangeDialog
        {...work}
        title={title}
        preview={preview}
        onBack={() => setPreview(undefined)}
        onWrite={write}
        onClose={onClose}
      />
    )
  return (
    <Dialog title={title} open onClose={onClose} wide>
      <form className="form" onSubmit={look}>
        {work.failure !== undefined && <Problem title={work.failure} />}
        <Text label="Name" value={name} onChange={setName} required readOnly={given !== undefined} />
        <DraftFields draft={draft} onChange={setDraft} />
        <Choice
          label="Where it is written"
          value={scope}
          onChange={(value) => setScope(value as Scope)}
          options={SCOPES}
        />
        <FormActions isBusy={work.isBusy} onClose={onClose} />
      </form>
    </Dialog>
  )
}

function FormActions({ isBusy, onClose }: { readonly isBusy: boolean; readonly onClose: () => void }) {
  return (
    <div className="actions actions-end">
      <Button onClick={onClose}>Cancel</Button>
      <Button tone="primary" type="submit" busy={isBusy}>
        Show the change
      </Button>
    </div>
  )
}

/** An entry that is edited starts as it is written. */
function useEntry(
  name: string | undefined,
  setDraft: (draft: Draft) => void,
  setScope: (scope: Scope) => void,
): void {
  useEffect(() => {
    if (name === undefined) return
    void attempt(async () => {
      const { entry, scope } = await request<{ entry: unknown; scope: string | null }>('config/entry', {
        name,
      })
      setDraft(draftOf(entry))
      if (scope === 'local' || scope === 'project' || scope === 'user') setScope(scope)
    })
  }, [name, setDraft, setScope])
}

const KINDS = [
  ['command', 'A command that runs here'],
  ['http', 'A URL (HTTP)'],
  ['sse', 'A URL (SSE)'],
  ['ws', 'A URL (WebSocket)'],
  ['json', 'Written as JSON'],
] as const

interface DraftProps {
  readonly draft: Draft
  readonly onChange: (draft: Draft) => void
}

function DraftFields({ draft, onChange }: DraftProps) {
  const choose = (kind: string) =>
    onChange({
      ...draft,
      kind: kind as Draft['kind'],
      ...(kind === 'json' && { json: JSON.stringify(entryOf(draft), null, 2) }),
    })
  return (
    <>
      <Choice label="How it is reached" value={draft.kind} onChange={choose} options={KINDS} />
      {draft.kind === 'command' ? (
        <CommandFields draft={draft} onChange={onChange} />
      ) : draft.kind === 'json' ? (
        <Text
          label="Entry"
          value={draft.json}
          onChange={(json) => onChange({ ...draft, json })}
          rows={10}
          required
          mono
        />
      ) : (
        <UrlFields draft={draft} onChange={onChange} />
      )}
    </>
  )
}

function CommandFields({ draft, onChange }: DraftProps) {
  const set = (change: Partial<Draft>) => onChange({ ...draft, ...change })
  return (
    <>
      <Text label="Command" value={draft.command} onChange={(command) => set({ command })} required mono />
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
  )
}

function UrlFields({ draft, onChange }: DraftProps) {
  const set = (change: Partial<Draft>) => onChange({ ...draft, ...change })
  return (
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
  )
}
