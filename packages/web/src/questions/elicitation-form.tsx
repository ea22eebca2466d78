// elicitation-form.tsx: what a server asks the user for: a form of flat fields, or a page to visit.
import { type FormEvent, useId, useState } from 'react'
import { Button, Problem } from '../parts/basics.tsx'
import type { Question } from '../state/types.ts'
import { answerQuestion } from './answer-question.ts'

interface Field {
  readonly name: string
  readonly title: string
  readonly description?: string
  readonly required: boolean
  readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'choices'
  readonly format?: string
  readonly default?: unknown
  readonly options?: readonly { readonly value: string; readonly label: string }[]
}

interface Prompt {
  readonly mode: 'form' | 'url'
  readonly message: string
  readonly form?: { readonly fields: readonly Field[]; readonly warnings: readonly string[] }
  readonly problems?: readonly { readonly field: string; readonly message: string }[]
  readonly url?: string
  readonly warnings?: readonly string[]
  readonly retry?: boolean
}

export function ElicitationForm({ question }: { readonly question: Question }) {
  const prompt = question.question as unknown as Prompt
  const decline = (action: 'decline' | 'cancel') => void answerQuestion(question.id, { action })
  const refusals = (
    <>
      <Button onClick={() => decline('decline')}>Decline</Button>
      <Button tone="quiet" onClick={() => decline('cancel')}>
        Cancel
      </Button>
    </>
  )
  return (
    <div className="stack">
      <p className="plain-text">{prompt.message}</p>
      {[...(prompt.warnings ?? []), ...(prompt.form?.warnings ?? [])].map((warning) => (
        <Problem key={warning} title={warning} />
      ))}
      {prompt.problems?.map(({ field, message }) => (
        <Problem key={`${field} ${message}`} title={`${field} ${message}`} />
      ))}
      {prompt.mode === 'url' ? (
        <UrlRequest question={question} prompt={prompt} refusals={refusals} />
      ) : (
        <Fields question={question} fields={prompt.form?.fields ?? []} refusals={refusals} />
      )}
    </div>
  )
}

interface PartProps {
  readonly question: Question
  readonly refusals: React.ReactNode
}

function UrlRequest({ question, prompt, refusals }: PartProps & { readonly prompt: Prompt }) {
  const [isOpened, setOpened] = useState(false)
  const url = prompt.url ?? ''
  const accept = (done: boolean) =>
    void answerQuestion(question.id, { action: 'accept', ...(done && { done }) })
  return (
    <>
      <p>
        The server asks you to visit a page at <strong>{URL.canParse(url) ? new URL(url).host : url}</strong>:
      </p>
      <p className="break">
        <code>{url}</code>
      </p>
      <div className="actions">
        {/^https?:\/\//i.test(url) && (
          <a
            className="button button-primary"
            href={url}
            target="_blank"
            rel="noreferrer noopener"
            onClick={() => (prompt.retry === true ? setOpened(true) : accept(false))}
          >
            Open the page
          </a>
        )}
        {prompt.retry === true && (
          <Button disabled={!isOpened} onClick={() => accept(true)}>
            I have finished there
          </Button>
        )}
        {refusals}
      </div>
    </>
  )
}

function Fields({ question, fields, refusals }: PartProps & { readonly fields: readonly Field[] }) {
  const [values, setValues] = useState<Readonly<Record<string, unknown>>>(() =>
    Object.fromEntries(
      fields.flatMap(({ name, kind, required, default: preset }) => {
        const value = preset ?? (kind === 'boolean' && required ? false : undefined)
        return value === undefined ? [] : [[name, value]]
      }),
    ),
  )
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const content = Object.fromEntries(
      Object.entries(values).filter(([, value]) => value !== undefined && value !== ''),
    )
    void answerQuestion(question.id, { action: 'accept', content })
  }
  return (
    <form className="form" onSubmit={submit}>
      {fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          value={values[field.name]}
          onChange={(value) => setValues({ ...values, [field.name]: value })}
        />
      ))}
      <div className="actions">
        <Button type="submit" tone="primary">
          Send to {question.server}
        </Button>
        {refusals}
      </div>
    </form>
  )
}

interface FieldInputProps {
  readonly field: Field
  readonly value: unknown
  readonly onChange: (value: unknown) => void
}

const INPUTS: Readonly<Record<string, string>> = { date: 'date', email: 'email', uri: 'url' }

function FieldInput({ field, value, onChange }: FieldInputProps) {
  const id = useId()
  const { kind, title, required, description } = field
  const mark = required ? (
    <span className="required">required</span>
  ) : (
    <span className="optional">optional</span>
  )
  if (kind === 'choices')
    return (
      <fieldset className="group">
        <legend>
          {title} {mark}
        </legend>
        <Choices field={field} value={value} onChange={onChange} />
      </fieldset>
    )
  const Input = kind === 'choice' ? ChoiceInput : kind === 'boolean' ? YesNoInput : TextInput
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {title} {mark}
      </label>
      <Input id={id} field={field} value={value} onChange={onChange} />
      {description !== undefined && <span className="field-hint">{description}</span>}
    </div>
  )
}

function Choices({ field: { options = [] }, value, onChange }: FieldInputProps) {
  const chosen = Array.isArray(value) ? (value as readonly string[]) : []
  return options.map((option) => (
    <label key={option.value} className="check">
      <input
        type="checkbox"
        checked={chosen.includes(option.value)}
        onChange={(event) =>
          onChange(
            event.target.checked ? [...chosen, option.value] : chosen.filter((one) => one !== option.value),
          )
        }
      />{' '}
      {option.label}
    </label>
  ))
}

type OneInputProps = FieldInputProps & { readonly id: string }

function ChoiceInput({ id, field: { required, options = [] }, value, onChange }: OneInputProps) {
  return (
    <select
      id={id}
      required={required}
      value={String(value ?? '')}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{required ? 'choose…' : 'left out'}</option>
      {options.map((option) => (
        <option key={option.value} value={option.value}>
          {option.label}
        </option>
      ))}
    </select>
  )
}

function YesNoInput({ id, field: { required }, value, onChange }: OneInputProps) {
  return (
    <select
      id={id}
      required={required}
      value={value === undefined ? '' : String(value)}
      onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value === 'true')}
    >
      {!required && <option value="">left out</option>}
      <option value="true">yes</option>
      <option value="false">no</option>
    </select>
  )
}

function TextInput({ id, field: { kind, required, format }, value, onChange }: OneInputProps) {
  const read = (text: string) => (kind !== 'number' ? text : text === '' ? undefined : Number(text))
  return (
    <input
      id={id}
      type={kind === 'number' ? 'number' : (INPUTS[format ?? ''] ?? 'text')}
      step="any"
      required={required}
      value={String(value ?? '')}
      onChange={(event) => onChange(read(event.target.value))}
    />
  )
}
