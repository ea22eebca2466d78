// decide-view.tsx: everything that waits for the user: permission questions, forms of servers, consents, approvals. Whoever
// answers first counts, here or in a terminal.

import { Button, Chip, Empty } from '../parts/basics.tsx'
import { clock } from '../parts/format.ts'
import { JsonTree } from '../parts/json-tree.tsx'
import { PendingEntry, useFreshPending } from '../servers/approve-dialog.tsx'
import { board } from '../state/board.ts'
import { useStore } from '../state/store.ts'
import type { Json, Question } from '../state/types.ts'
import { answerQuestion } from './answer-question.ts'
import { ElicitationForm } from './elicitation-form.tsx'

export default function DecideView() {
  const questions = useStore(board, (state) => state.questions)
  const pending = useStore(board, (state) => state.pending)
  const total = questions.length + pending.length
  useFreshPending()
  return (
    <section className="pane" aria-labelledby="decide-title">
      <header className="pane-head">
        <h1 id="decide-title">Decide</h1>
        <p className="summary">{total === 0 ? '' : `${total} waiting`}</p>
      </header>
      {total === 0 && (
        <Empty icon="decide" title="Nothing waits for you">
          <p>Questions of servers and of permissions appear here, and in the terminal that caused them.</p>
        </Empty>
      )}
      <div className="stack readable" aria-live="polite">
        {questions.map((question) => (
          <QuestionCard key={question.id} question={question} />
        ))}
        {pending.map((entry) => (
          <PendingEntry key={entry.name} entry={entry} />
        ))}
      </div>
    </section>
  )
}

const ORIGINS = {
  terminal: 'also asked in a terminal',
  page: 'from this page',
  client: 'asked by another program',
} as const

function QuestionCard({ question }: { readonly question: Question }) {
  const { kind, server, from, at } = question
  const titles = {
    permission: 'Permission',
    elicitation: 'The server asks',
    consent: 'Use of the model',
  } as const
  return (
    <article className="card question" aria-label={`${titles[kind]}: ${server}`}>
      <header className="card-head">
        <h2>{titles[kind]}</h2>
        <Chip>{server}</Chip>
        <span className="dim">
          {clock(at)} · {ORIGINS[from]}
        </span>
      </header>
      {kind === 'permission' && <PermissionCard question={question} />}
      {kind === 'consent' && <ConsentCard question={question} />}
      {kind === 'elicitation' && <ElicitationForm question={question} />}
    </article>
  )
}

interface PermissionFacts {
  readonly request: {
    readonly tool: string
    readonly name: string
    readonly title?: string
    readonly traits?: { readonly readOnly: boolean; readonly destructive: boolean }
    readonly saysDestructive?: boolean
  }
  readonly reason: { readonly text: string; readonly source?: string; readonly rule?: string }
  readonly arguments: unknown
  readonly answers: readonly string[]
  readonly saves?: { readonly rule: string; readonly file?: string }
}

const ANSWERS: Readonly<Record<string, string>> = {
  once: 'Allow once',
  session: 'Allow for this session',
  always: 'Always allow',
  no: 'Deny',
}

function PermissionCard({ question }: { readonly question: Question }) {
  const facts = question.question as unknown as PermissionFacts
  const { request: asked, reason, saves } = facts
  return (
    <div className="stack">
      <p>
        {question.who === undefined ? 'A model' : <strong>{question.who}</strong>} wants to call{' '}
        <strong>{asked.tool}</strong>
        {asked.title !== undefined && asked.title !== asked.tool ? ` (“${asked.title}”)` : ''}.{' '}
        {asked.traits?.readOnly
          ? 'The server says that it only reads.'
          : asked.saysDestructive
            ? 'The server says that it may delete or overwrite.'
            : 'It may change something.'}
      </p>
      <p className="dim">
        Asked because {reason.text}
        {reason.rule === undefined ? '' : `: ${reason.rule}`}
        {reason.source === undefined ? '' : ` (${reason.source})`}.
      </p>
      <JsonTree value={facts.arguments ?? {}} label="Arguments of the call" />
      {saves && (
        <p className="dim">
          “Always” adds <code>{saves.rule}</code> to permissions.allow in {saves.file ?? 'your settings'}.
        </p>
      )}
      <div className="actions">
        {facts.answers.map((answer) => (
          <Button
            key={answer}
            tone={answer === 'once' ? 'primary' : answer === 'no' ? 'danger' : 'plain'}
            onClick={() => void answerQuestion(question.id, answer)}
          >
            {ANSWERS[answer] ?? answer}
          </Button>
        ))}
      </div>
    </div>
  )
}

function ConsentCard({ question }: { readonly question: Question }) {
  const { messages, systemPrompt, maxTokens } = question.question as Json
  return (
    <div className="stack">
      <p>
        The server asks for an answer of the model, of at most {String(maxTokens)} tokens. The model would
        read exactly this:
      </p>
      <JsonTree value={{ systemPrompt, messages }} label="What the model would read" />
      <div className="actions">
        <Button tone="primary" onClick={() => void answerQuestion(question.id, 'once')}>
          Allow once
        </Button>
        <Button onClick={() => void answerQuestion(question.id, 'session')}>Allow for this session</Button>
        <Button tone="danger" onClick={() => void answerQuestion(question.id, 'no')}>
          Deny
        </Button>
      </div>
    </div>
  )
}
