// rule-dialog.tsx: a permission rule made from what was decided: the rule, where it is written, and the change of the file before.
import { type FormEvent, useState } from 'react'
import { Button, Problem } from '../parts/basics.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Text } from '../parts/fields.tsx'
import { ChangeDialog, type Preview, useWork } from '../parts/file-change.tsx'
import { notify, request } from '../state/board.ts'

const ACTIONS = [
  ['allow', 'Allow: never ask about it'],
  ['ask', 'Ask every time'],
  ['deny', 'Deny: it cannot be called'],
] as const

const SCOPES = [
  ['user', 'Everywhere (your settings)'],
  ['local', 'In this folder only'],
] as const

interface RuleDialogProps {
  readonly server: string
  readonly tool: string
  readonly onClose: () => void
}

export function RuleDialog({ server, tool, onClose }: RuleDialogProps) {
  const [rule, setRule] = useState(`mcp__${server}__${tool}`)
  const [action, setAction] = useState<string>('deny')
  const [scope, setScope] = useState<string>('user')
  const [preview, setPreview] = useState<Preview>()
  const work = useWork()
  const look = (event: FormEvent) => {
    event.preventDefault()
    work.run(async () => setPreview(await request<Preview>('rules/preview', { action, rule, scope })))
  }
  const write = async () => {
    await request('rules/write', { action, rule, scope, seen: preview?.seen ?? '' })
    notify(`The rule was written to ${preview?.file ?? 'the file'}.`, 'good')
    onClose()
  }
  const title = 'Write a rule'
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
    <Dialog title={title} open onClose={onClose}>
      <form className="form" onSubmit={look}>
        {work.failure !== undefined && <Problem title={work.failure} />}
        <Choice label="What it does" options={ACTIONS} value={action} onChange={setAction} />
        <Text
          label="Rule"
          value={rule}
          onChange={setRule}
          required
          mono
          hint={`mcp__${server} covers the whole server, and * any part of a tool's name.`}
        />
        <Choice label="Where it holds" options={SCOPES} value={scope} onChange={setScope} />
        <div className="actions actions-end">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" tone="primary" busy={work.isBusy}>
            Show the change
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
