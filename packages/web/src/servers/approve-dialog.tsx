// approve-dialog.tsx: what came with a project and waits for a yes, exactly as it is written. A yes is for this text alone.
import { useEffect, useState } from 'react'
import { Button, Code } from '../parts/basics.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { attempt, board, readPending, request } from '../state/board.ts'
import { useStore } from '../state/store.ts'
import type { Pending } from '../state/types.ts'

export function ApproveDialog({
  names,
  onClose,
}: {
  readonly names: readonly string[]
  readonly onClose: () => void
}) {
  const pending = useStore(board, (state) => state.pending)
  const shown = pending.filter(({ name }) => names.includes(name))
  const isDone = shown.length === 0
  useFreshPending()
  useEffect(() => {
    if (isDone) onClose()
  }, [isDone, onClose])
  return (
    <Dialog title="Servers that came with this project" open onClose={onClose} wide>
      <p>
        Approving lets a server start with exactly what is written here. If the file changes, you are asked
        again.
      </p>
      {shown.map((entry) => (
        <PendingEntry key={entry.name} entry={entry} />
      ))}
    </Dialog>
  )
}

export function PendingEntry({ entry }: { readonly entry: Pending }) {
  const { name, hash, file, written, because, replaces } = entry
  const [isBusy, setBusy] = useState(false)
  const decide = async (work: () => Promise<unknown>, done: string) => {
    setBusy(true)
    await attempt(work, done)
    await attempt(readPending)
    setBusy(false)
  }
  return (
    <article className="card" aria-label={`Approval of ${name}`}>
      <header className="card-head">
        <h3>{name}</h3>
        <span className="dim">
          {file}, {because}
        </span>
      </header>
      <Code label={`What ${name} runs`}>{visible(JSON.stringify(written, null, 2))}</Code>
      <ul className="notes">
        {notesOf(written, replaces).map((note) => (
          <li key={note}>{note}</li>
        ))}
      </ul>
      <div className="actions">
        <Button
          tone="primary"
          busy={isBusy}
          onClick={() =>
            void decide(() => request('config/approve', { name, hash }), `${name} was approved.`)
          }
        >
          Approve exactly this
        </Button>
        <Button
          disabled={isBusy}
          onClick={() =>
            void decide(
              () => request('config/enable', { name, enabled: false }),
              `${name} was switched off for you.`,
            )
          }
        >
          Never: switch it off
        </Button>
      </div>
    </article>
  )
}

/** While entries are shown, their files are looked at again: what is read has to be what is there. */
export function useFreshPending(): void {
  useEffect(() => {
    const timer = setInterval(() => void readPending().catch(() => undefined), REREAD_MS)
    return () => clearInterval(timer)
  }, [])
}

const REREAD_MS = 2000

/** Characters that hide or turn text are shown as escapes: what is approved has to be what is read. */
export function visible(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to show
    /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** What a yes includes that the text does not say. */
function notesOf(written: unknown, replaces: string | undefined): readonly string[] {
  const { command, inheritEnv } = (written ?? {}) as {
    readonly command?: unknown
    readonly inheritEnv?: unknown
  }
  const names = [...(JSON.stringify(written) ?? '').matchAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)/g)].map(
    ([, name = '']) => name,
  )
  const variables = [...new Set(names)].filter((name) => !/^(?:PLUGBOARD|CLAUDE)_PROJECT_DIR$/.test(name))
  return [
    ...(replaces === undefined ? [] : [`It replaces your own server of that name (${replaces}).`]),
    ...(inheritEnv === true ? ['It gets your whole environment, secrets included.'] : []),
    ...(variables.length > 0 ? [`It gets these variables of yours: ${variables.join(', ')}.`] : []),
    ...(typeof command === 'string'
      ? ['It starts in the project folder and runs the code it finds there.']
      : []),
  ]
}
