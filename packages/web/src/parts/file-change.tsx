// file-change.tsx: a change of a file, shown before it is written: exactly this is written, or nothing.
import { useState } from 'react'
import { failureOf } from '../connection/request-failed.ts'
import { Button, Problem } from './basics.tsx'
import { Dialog } from './dialog.tsx'
import { Diff } from './diff.tsx'

export interface Preview {
  readonly file: string
  readonly before: string | null
  readonly after: string
  /** Names this very change; the process writes no other. */
  readonly seen: string
}

interface ChangeDialogProps extends ReturnType<typeof useWork> {
  readonly title: string
  readonly preview: Preview
  readonly onBack: () => void
  readonly onWrite: () => Promise<void>
  readonly onClose: () => void
}

export function ChangeDialog(props: ChangeDialogProps) {
  const { title, preview, failure, isBusy, run, onBack, onWrite, onClose } = props
  return (
    <Dialog
      title={title}
      open
      onClose={onClose}
      wide
      actions={
        <>
          <Button onClick={onBack}>Back</Button>
          <Button tone="primary" busy={isBusy} onClick={() => run(onWrite)}>
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
}

/** Work of a form: while it runs the form is busy, and what went wrong stays on it. */
export function useWork() {
  const [failure, setFailure] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const run = (work: () => Promise<void>) => {
    setBusy(true)
    setFailure(undefined)
    void work()
      .catch((error: unknown) => {
        const { message, hint } = failureOf(error)
        setFailure(hint === undefined ? message : `${message} ${hint}`)
      })
      .finally(() => setBusy(false))
  }
  return { failure, isBusy, run }
}
