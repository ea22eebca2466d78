// exchange-steps.tsx: what happened around a request beside its messages: the hooks that ran, and the HTTP exchanges that carried it with
// their headers. Secrets were taken out before any of it came here.
import { useEffect, useState } from 'react'
import { Chip } from '../parts/basics.tsx'
import { duration, plural } from '../parts/format.ts'
import { attempt, request } from '../state/board.ts'
import type { TrafficEntry } from '../state/types.ts'
import { isHttpFailure } from './exchanges.ts'

const DECISIONS: Readonly<Record<string, { readonly text: string; readonly tone: string }>> = {
  passed: { text: 'let it pass', tone: 'good' },
  refused: { text: 'refused', tone: 'deny' },
  changed: { text: 'changed it', tone: 'ask' },
  added: { text: 'added text', tone: 'ask' },
  answered: { text: 'answered', tone: 'ask' },
  failed: { text: 'failed', tone: 'deny' },
}

export function HookRuns({ hooks }: { readonly hooks: readonly TrafficEntry[] }) {
  if (hooks.length === 0) return null
  return (
    <section aria-label="Hooks">
      <h3 className="section-title">Hooks</h3>
      <ul className="exchanges">
        {hooks.map(({ number, hook, durationMs = 0 }) => {
          const { event, decision, command, source, reason } = hook ?? { event: '', decision: '' }
          const { text, tone } = DECISIONS[decision] ?? { text: decision, tone: 'plain' }
          return (
            <li key={number} className="exchange">
              <div className="exchange-line">
                <Chip tone={tone}>{text}</Chip>
                <strong>{event}</strong>
                {reason !== undefined && <span className="break">{reason}</span>}
                <span className="dim">{duration(durationMs)}</span>
              </div>
              <div className="exchange-more">
                <code className="break">{command ?? 'a function of the program'}</code>
                {source !== undefined && <div className="row-sub">{source}</div>}
              </div>
            </li>
          )
        })}
      </ul>
    </section>
  )
}

interface Headers {
  readonly requestHeaders: Readonly<Record<string, string>>
  readonly responseHeaders?: Readonly<Record<string, string>>
}

export function HttpExchanges({ http }: { readonly http: readonly TrafficEntry[] }) {
  if (http.length === 0) return null
  return (
    <section aria-label="HTTP">
      <h3 className="section-title">
        HTTP{http.length > 1 && <span className="dim"> · {plural(http.length, 'exchange')}</span>}
      </h3>
      <ul className="exchanges">
        {http.map((one) => (
          <li key={one.number}>
            <HttpExchange entry={one} isOpen={http.length === 1} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function HttpExchange({ entry, isOpen }: { readonly entry: TrafficEntry; readonly isOpen: boolean }) {
  const [opened, setOpened] = useState(isOpen)
  const { http, number: key, durationMs = 0 } = entry
  if (!http) return null
  const { method, url, attempt: nth, status, failure, retryAfterMs } = http
  return (
    <details className="exchange" open={isOpen} onToggle={(event) => setOpened(event.currentTarget.open)}>
      <summary className="exchange-line">
        <Chip tone={isHttpFailure(entry) ? 'deny' : 'good'}>{failure ?? status}</Chip>
        <strong>{method}</strong> <span className="break">{url}</span>
        <span className="dim">
          attempt {nth} · {duration(durationMs)}
          {retryAfterMs !== undefined && ` · Retry-After ${duration(retryAfterMs)}`}
        </span>
      </summary>
      {opened && <HeaderTables of={key} />}
    </details>
  )
}

function HeaderTables({ of: key }: { readonly of: number }) {
  const [headers, setHeaders] = useState<Headers | null>()
  useEffect(() => {
    void attempt(async () => {
      const { message } = await request<{ readonly message: Headers | null }>('traffic/message', {
        number: key,
      })
      setHeaders(message)
    })
  }, [key])
  if (headers === undefined) return null
  if (headers === null) return <p className="dim">Its headers are not kept any more.</p>
  return (
    <div className="headers">
      <HeaderTable title="Request headers" values={headers.requestHeaders} />
      {headers.responseHeaders && <HeaderTable title="Response headers" values={headers.responseHeaders} />}
    </div>
  )
}

function HeaderTable({
  title,
  values,
}: {
  readonly title: string
  readonly values: Readonly<Record<string, string>>
}) {
  return (
    <table className="header-table" aria-label={title}>
      <caption>{title}</caption>
      <tbody>
        {Object.entries(values).map(([name, value]) => (
          <tr key={name}>
            <th scope="row" className="mono">
              {name}
            </th>
            <td className="break mono">{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}
