// admin-parts.tsx: what the tables of the administration share: facts that are read again every few seconds, a pane that says so when the
// gateway does not answer, and a button that asks twice.
import { type ReactNode, useCallback, useEffect, useState } from 'react'
import { failureOf } from '../connection/request-failed.ts'
import { Button, Empty, Loading, Problem } from '../parts/basics.tsx'
import type { IconName } from '../parts/icon.tsx'
import { TableHead } from '../parts/table-head.tsx'
import { attempt } from '../state/board.ts'
import { act, SignedOut } from './admin-client.ts'

export interface ViewProps {
  readonly onSignedOut: () => void
}

const AGAIN_MS = 3000
const CONFIRM_MS = 4000
/** A table with more columns is too wide for a narrow screen. */
const STACKED_ABOVE = 3

/** What the gateway says about a subject, read again and again. */
export function useFacts<T>(what: string, onSignedOut: () => void) {
  const [facts, setFacts] = useState<T>()
  const [problem, setProblem] = useState<string>()
  const read = useCallback(async () => {
    try {
      setFacts(await act<T>('GET', what))
      setProblem(undefined)
    } catch (error) {
      if (error instanceof SignedOut) onSignedOut()
      else setProblem(failureOf(error).message)
    }
  }, [what, onSignedOut])
  useEffect(() => {
    void read()
    const timer = setInterval(() => void read(), AGAIN_MS)
    return () => clearInterval(timer)
  }, [read])
  const run = (done: string, method: 'POST' | 'DELETE', ...words: readonly string[]) =>
    void attempt(async () => {
      await act(method, ...words)
      await read()
    }, done)
  return { facts, problem, run }
}

interface PaneProps {
  readonly title: string
  readonly summary?: string | undefined
  readonly isRead: boolean
  readonly problem: string | undefined
  readonly children: ReactNode
}

export function Pane({ title, summary, isRead, problem, children }: PaneProps) {
  return (
    <section className="pane" aria-labelledby="pane-title">
      <header className="pane-head">
        <h1 id="pane-title">{title}</h1>
        {summary !== undefined && <p className="summary">{summary}</p>}
      </header>
      {problem !== undefined && (
        <Problem title="The gateway does not answer">
          {problem} What you see is what it said last; it is asked again every few seconds.
        </Problem>
      )}
      {isRead ? children : problem === undefined && <Loading>Asking the gateway…</Loading>}
    </section>
  )
}

export interface GridProps {
  readonly columns: readonly string[]
  readonly rows: readonly { readonly key: string; readonly cells: readonly ReactNode[] }[]
  readonly icon: IconName
  readonly empty: string
}

export function Grid({ columns, rows, icon, empty }: GridProps) {
  if (rows.length === 0) return <Empty icon={icon} title={empty} />
  return (
    <div className="table-wrap">
      <table className={`table ${columns.length > STACKED_ABOVE ? 'table-stack' : ''}`}>
        <TableHead columns={columns.map((title) => ({ title, isHidden: title === 'Actions' }))} />
        <tbody>
          {rows.map(({ key, cells }) => (
            <tr key={key}>
              {cells.map((cell, at) => (
                <td key={columns[at]} data-title={columns[at] === 'Actions' ? undefined : columns[at]}>
                  {cell}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Done by the second press: the first one says what would happen. */
export function ConfirmButton({
  label,
  sure,
  onConfirm,
}: {
  readonly label: string
  readonly sure: string
  readonly onConfirm: () => void
}) {
  const [asks, setAsks] = useState(false)
  useEffect(() => {
    if (!asks) return
    const timer = setTimeout(() => setAsks(false), CONFIRM_MS)
    return () => clearTimeout(timer)
  }, [asks])
  return (
    <Button
      tone={asks ? 'danger' : 'plain'}
      onClick={() => {
        setAsks(!asks)
        if (asks) onConfirm()
      }}
    >
      {asks ? sure : label}
    </Button>
  )
}

export const when = (at: number | undefined) => (at === undefined ? '' : new Date(at).toLocaleString())
