// compare.tsx: where two requests and their answers differ.
import { useEffect, useState } from 'react'
import { plural } from '../parts/format.ts'
import { attempt, request } from '../state/board.ts'
import { type Difference, differences } from './differences.ts'
import type { Exchange } from './exchanges.ts'

interface Compared {
  readonly asked: readonly Difference[]
  readonly answered: readonly Difference[]
}

export function Differences({ before, after }: { readonly before: Exchange; readonly after: Exchange }) {
  const [found, setFound] = useState<Compared>()
  useEffect(() => {
    void attempt(async () => {
      const [asked, askedNow, answered, answeredNow] = await Promise.all([
        partOf(before.number, 'params'),
        partOf(after.number, 'params'),
        partOf(before.answer, 'result', 'error'),
        partOf(after.answer, 'result', 'error'),
      ])
      setFound({ asked: differences(asked, askedNow), answered: differences(answered, answeredNow) })
    })
  }, [before.number, before.answer, after.number, after.answer])
  if (!found) return null
  return (
    <div className="stack-tight">
      <Rows title="The requests" rows={found.asked} />
      <Rows title="The answers" rows={found.answered} />
    </div>
  )
}

/** The part of a message that says something; ids always differ. */
async function partOf(number: number | undefined, ...members: readonly string[]): Promise<unknown> {
  if (number === undefined) return undefined
  const { message } = await request<{ readonly message: unknown }>('traffic/message', { number })
  const parts = (message ?? {}) as Readonly<Record<string, unknown>>
  const part = members.map((member) => parts[member]).find((one) => one !== undefined)
  if (typeof part !== 'object' || part === null) return part
  // Tokens of progress and traces are new with every request.
  const { _meta: _, ...rest } = part as Readonly<Record<string, unknown>>
  return rest
}

const CHARS = 200

function shortened(value: unknown): string {
  const text = value === undefined ? '—' : JSON.stringify(value)
  return text.length > CHARS ? `${text.slice(0, CHARS)}…` : text
}

function Rows({ title, rows }: { readonly title: string; readonly rows: readonly Difference[] }) {
  return (
    <section className="card" aria-label={`${title}: differences`}>
      <h3 className="section-title">
        {title}: {rows.length === 0 ? 'the same' : plural(rows.length, 'difference')}
      </h3>
      {rows.length > 0 && (
        <div className="table-wrap">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Path</th>
                <th scope="col">Before</th>
                <th scope="col">Then</th>
              </tr>
            </thead>
            <tbody>
              {rows.map(({ path, before, after }) => (
                <tr key={path}>
                  <td>
                    <code className="break">{path}</code>
                  </td>
                  <td className="break">{shortened(before)}</td>
                  <td className="break">{shortened(after)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </section>
  )
}
