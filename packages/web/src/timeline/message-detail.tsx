// message-detail.tsx: both sides of a request as JSON, what it cost, and another one beside it.
import { useEffect, useState } from 'react'
import { Button, Chip, Facts, IconButton, Loading } from '../parts/basics.tsx'
import { clock, duration, size, tokens } from '../parts/format.ts'
import { JsonTree } from '../parts/json-tree.tsx'
import { addressOf } from '../routes.ts'
import { attempt, request } from '../state/board.ts'
import { useDecision } from './call-facts.tsx'
import { Differences } from './compare.tsx'
import { HookRuns, HttpExchanges } from './exchange-steps.tsx'
import { type Exchange, isUnanswered } from './exchanges.ts'

interface MessageDetailProps {
  readonly exchange: Exchange
  readonly compared: Exchange | undefined
  readonly isKept: boolean
  readonly onCompare: () => void
  readonly onClose: () => void
}

export function MessageDetail({ exchange, compared, isKept, onCompare, onClose }: MessageDetailProps) {
  return (
    <section className="pane detail" aria-labelledby="message-title">
      <header className="pane-head">
        <h2 id="message-title">
          {exchange.method} {exchange.name}
        </h2>
        <div className="pane-actions">
          <Button onClick={onCompare} aria-pressed={isKept}>
            {isKept ? 'Stop comparing' : 'Compare with…'}
          </Button>
          <IconButton icon="close" label="Close" onClick={onClose} />
        </div>
      </header>
      {isKept && <p className="dim">Choose another message to see it beside this one.</p>}
      {compared && <Differences before={compared} after={exchange} />}
      <div className={compared ? 'compare' : ''}>
        {compared && <Sides exchange={compared} />}
        <Sides exchange={exchange} />
      </div>
    </section>
  )
}

const OUTCOMES = {
  ok: 'good',
  error: 'deny',
  'tool-error': 'deny',
  open: 'plain',
  cancelled: 'plain',
  'timed out': 'deny',
  'connection closed': 'deny',
} as const

function Sides({ exchange }: { readonly exchange: Exchange }) {
  const { number, answer, server, at, era, direction, durationMs, outcome, id, connection, retryOf, kind } =
    exchange
  const isMessage = kind !== 'http' && kind !== 'hook'
  return (
    <div className="stack">
      <Facts
        rows={[
          [
            'Outcome',
            <Chip key="outcome" tone={OUTCOMES[outcome]}>
              {outcome}
            </Chip>,
          ],
          ['Server', connection === 0 ? server : `${server} (connection ${connection})`],
          ['Direction', isMessage && (direction === 'sent' ? 'board → server' : 'server → board')],
          ['Era', era],
          ['Id', id === undefined ? undefined : String(id)],
          ['At', clock(at, true)],
          ['Took', durationMs === undefined ? undefined : duration(durationMs)],
          [
            'Size',
            exchange.isOutline || !isMessage
              ? undefined
              : `${size(exchange.size)}, about ${tokens(exchange.size)} tokens`,
          ],
          [
            'Sent again',
            retryOf === undefined ? undefined : (
              <a key="retry" href={addressOf('timeline', String(retryOf))}>
                the first time it was not answered
              </a>
            ),
          ],
          ...useDecision(exchange),
        ]}
      />
      {exchange.isOutline && (
        <p className="dim">
          It was recorded before this page or <code>plugboard trace</code> looked. From then on messages are
          kept whole.
        </p>
      )}
      <HookRuns hooks={exchange.hooks} />
      <HttpExchanges http={exchange.http} />
      {isMessage && <Message title={answer === undefined ? 'Message' : 'Request'} number={number} />}
      {answer !== undefined && (
        <Message title={isUnanswered(exchange) ? 'Late answer' : 'Answer'} number={answer} />
      )}
    </div>
  )
}

function Message({ title, number }: { readonly title: string; readonly number: number }) {
  const [message, setMessage] = useState<unknown>()
  useEffect(() => {
    void attempt(async () => {
      const { message: found } = await request<{ readonly message: unknown }>('traffic/message', { number })
      setMessage(found ?? 'It is not kept any more.')
    })
  }, [number])
  return (
    <div>
      <h3 className="section-title">{title}</h3>
      {message === undefined ? <Loading>Reading…</Loading> : <JsonTree value={message} label={title} />}
    </div>
  )
}
