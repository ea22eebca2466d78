// diagnosis.tsx: why a server is as it is: which files and rules decided, and the doctor's steps.
import { useCallback, useEffect, useState } from 'react'
import { failureOf } from '../connection/request-failed.ts'
import { Button, Chip, Code, Facts, Loading, Problem, StateMark } from '../parts/basics.tsx'
import { request } from '../state/board.ts'

interface Explained {
  readonly definitions: readonly {
    readonly file: string
    readonly scope: string
    readonly line?: number
    readonly verdict: string
    readonly entry: unknown
    readonly faults: readonly { readonly path: string; readonly message: string; readonly severity: string }[]
  }[]
  readonly signature?: string
  readonly author?: string
  readonly disabled?: string
  readonly policy?: { readonly admitted: boolean; readonly by?: string; readonly reason?: string }
  readonly trust?: { readonly trusted: boolean; readonly because: string }
  readonly rules: readonly {
    readonly action: string
    readonly rule: string
    readonly file: string
    readonly counts: boolean
  }[]
  readonly notes: readonly string[]
}

/** The answer to one request, made when the component appears and again on demand. */
function useAnswer<T>(method: string, params: Readonly<Record<string, unknown>>) {
  const key = JSON.stringify(params)
  const [answer, setAnswer] = useState<T>()
  const [failure, setFailure] = useState<string>()
  const ask = useCallback(async () => {
    setAnswer(undefined)
    setFailure(undefined)
    try {
      setAnswer(await request<T>(method, JSON.parse(key)))
    } catch (error) {
      setFailure(failureOf(error).message)
    }
  }, [method, key])
  useEffect(() => void ask(), [ask])
  return { answer, failure, ask }
}

export function Explanation({ name }: { readonly name: string }) {
  const { answer, failure } = useAnswer<Explained>('config/explain', { name })
  if (failure !== undefined) return <Problem title={failure} />
  if (!answer) return <Loading>Reading the files…</Loading>
  const { definitions, trust, policy, rules, notes, disabled, author } = answer
  return (
    <div className="stack">
      <Facts
        rows={[
          ['State', disabled ?? 'enabled'],
          ['Written by', author],
          ['Trust', trust && `${trust.trusted ? 'trusted' : 'waits for approval'}: ${trust.because}`],
          [
            'Policy',
            policy && (policy.admitted ? `admitted: ${policy.by ?? ''}` : `blocked: ${policy.reason ?? ''}`),
          ],
        ]}
      />
      <h3 className="section-title">Defined in</h3>
      {definitions.map(({ file, line, scope, verdict, entry, faults }) => (
        <div key={`${file} ${scope}`} className="stack-tight">
          <div>
            <Chip tone={verdict === 'winner' ? 'good' : 'plain'}>{verdict}</Chip> {scope}{' '}
            <code className="break">
              {file}
              {line === undefined ? '' : `:${line}`}
            </code>
          </div>
          {faults.map(({ path, message }) => (
            <Problem key={`${path} ${message}`} title={`${path}: ${message}`} />
          ))}
          {verdict === 'winner' && <Code label={`Entry in ${file}`}>{JSON.stringify(entry, null, 2)}</Code>}
        </div>
      ))}
      <h3 className="section-title">Permission rules</h3>
      {rules.length === 0 ? (
        <p className="dim">No rule matches: every tool asks when a model calls it.</p>
      ) : (
        <ul className="plain-list">
          {rules.map(({ action, rule, file, counts }) => (
            <li key={`${action} ${rule} ${file}`}>
              <Chip tone={action}>{action}</Chip> <code>{rule}</code>{' '}
              <span className="dim break">{file}</span>
              {!counts && <span className="dim"> has no effect on this server</span>}
            </li>
          ))}
        </ul>
      )}
      {notes.length > 0 && (
        <ul className="notes">
          {notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
    </div>
  )
}

interface Diagnosis {
  readonly ok: boolean
  readonly disabled?: string
  readonly rungs: readonly {
    readonly rung: string
    readonly ok: boolean
    readonly detail?: string
    readonly hint?: string
  }[]
  readonly findings: readonly { readonly tool?: string; readonly where?: string; readonly message: string }[]
}

export function Doctor({ name }: { readonly name: string }) {
  const { answer, failure, ask } = useAnswer<Diagnosis>('doctor/check', { server: name })
  if (failure !== undefined) return <Problem title={failure} />
  if (!answer) return <Loading>Checking step by step…</Loading>
  return (
    <div className="stack">
      <div className="bar">
        <StateMark tone={answer.disabled !== undefined ? 'off' : answer.ok ? 'good' : 'bad'}>
          {answer.disabled ?? (answer.ok ? 'Everything works' : 'It stops at the first step that failed')}
        </StateMark>
        <Button icon="again" onClick={() => void ask()}>
          Check again
        </Button>
      </div>
      <ol className="steps">
        {answer.rungs.map(({ rung, ok, detail, hint }) => (
          <li key={rung} className={ok ? 'step-ok' : 'step-bad'}>
            <strong>{rung}</strong> <span className="visually-hidden">{ok ? 'passed' : 'failed'}</span>
            <div className="step-detail">{detail}</div>
            {hint !== undefined && <div className="step-hint">{hint}</div>}
          </li>
        ))}
      </ol>
      {answer.findings.length > 0 && (
        <>
          <h3 className="section-title">Findings</h3>
          <ul className="notes">
            {answer.findings.map(({ tool, where, message }, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: findings have no other identity
              <li key={at}>{[tool, where, message].filter(Boolean).join(': ')}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
