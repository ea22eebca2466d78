// field-inputs.tsx: the inputs of a form made from a JSON Schema that hold one value: texts, numbers, choices, and any value as JSON.
import { useId, useState } from 'react'
import type { Json } from '../state/types.ts'
import { limitsOf } from './schema.ts'

export interface FieldProps {
  readonly schema: unknown
  readonly root: Json
  readonly name: string
  readonly value: unknown
  readonly required: boolean
  readonly depth: number
  readonly onChange: (value: unknown) => void
}

export type Resolved = Omit<FieldProps, 'schema'> & { readonly schema: Json }

export function Label({
  id,
  name,
  schema,
  required,
}: { readonly id: string } & Pick<Resolved, 'name' | 'schema' | 'required'>) {
  return (
    <label className="field-label" htmlFor={id}>
      {titleOf(schema, name)}{' '}
      {required ? <span className="required">required</span> : <span className="optional">optional</span>}
    </label>
  )
}

export function titleOf(schema: Json, name: string): string {
  return typeof schema['title'] === 'string' ? schema['title'] : name
}

export function Hint({ id, schema }: { readonly id: string; readonly schema: Json }) {
  const description = typeof schema['description'] === 'string' ? schema['description'] : ''
  const limits = limitsOf(schema)
  if (description === '' && limits === '') return null
  return (
    <span className="field-hint" id={id}>
      {[description, limits].filter((text) => text !== '').join(' · ')}
    </span>
  )
}

export function useField() {
  const id = useId()
  return { id, hint: `${id}hint` }
}

export function BooleanField({ schema, name, value, required, onChange }: Resolved) {
  const { id, hint } = useField()
  return (
    <div className="field">
      <Label id={id} name={name} schema={schema} required={required} />
      <select
        id={id}
        aria-describedby={hint}
        value={value === undefined ? '' : String(value)}
        onChange={(event) => onChange(event.target.value === '' ? undefined : event.target.value === 'true')}
      >
        {!required && <option value="">left out</option>}
        <option value="true">true</option>
        <option value="false">false</option>
      </select>
      <Hint id={hint} schema={schema} />
    </div>
  )
}

export function EnumField({ schema, name, value, required, onChange }: Resolved) {
  const { id, hint } = useField()
  const options: readonly unknown[] =
    schema['const'] === undefined ? (schema['enum'] as readonly unknown[]) : [schema['const']]
  const labels = Array.isArray(schema['enumNames']) ? schema['enumNames'] : []
  const at = options.indexOf(value)
  return (
    <div className="field">
      <Label id={id} name={name} schema={schema} required={required} />
      <select
        id={id}
        aria-describedby={hint}
        value={at}
        required={required}
        onChange={(event) => onChange(options[Number(event.target.value)])}
      >
        {(at === -1 || !required) && <option value={-1}>{required ? 'choose…' : 'left out'}</option>}
        {options.map((option, index) => (
          <option key={String(option)} value={index}>
            {String(labels[index] ?? option)}
          </option>
        ))}
      </select>
      <Hint id={hint} schema={schema} />
    </div>
  )
}

export function NumberField({ schema, name, value, required, onChange }: Resolved) {
  const { id, hint } = useField()
  const isInteger = schema['type'] === 'integer'
  return (
    <div className="field">
      <Label id={id} name={name} schema={schema} required={required} />
      <input
        id={id}
        type="number"
        aria-describedby={hint}
        required={required}
        step={isInteger ? 1 : 'any'}
        min={schema['minimum'] as number | undefined}
        max={schema['maximum'] as number | undefined}
        value={typeof value === 'number' ? value : ''}
        onChange={(event) => onChange(event.target.value === '' ? undefined : Number(event.target.value))}
      />
      <Hint id={hint} schema={schema} />
    </div>
  )
}

/** Formats that a browser has an input for. A date with a time is typed: the browser's own has no time zone. */
const INPUTS: Readonly<Record<string, string>> = {
  date: 'date',
  email: 'email',
  uri: 'url',
  url: 'url',
  color: 'color',
  password: 'password',
}
const LONG_NAMES = /^(content|text|body|code|query|prompt|message|description|markdown|html|sql|script)$/i

export function StringField({ schema, name, value, required, onChange }: Resolved) {
  const { id, hint } = useField()
  const format = typeof schema['format'] === 'string' ? schema['format'] : ''
  const isLong = format === '' && (LONG_NAMES.test(name) || Number(schema['maxLength'] ?? 0) > 200)
  const shared = {
    id,
    'aria-describedby': hint,
    required: required && Number(schema['minLength'] ?? 0) > 0,
    value: typeof value === 'string' ? value : '',
    placeholder: placeholderOf(schema, format),
    spellCheck: false,
    onChange: (event: { target: { value: string } }) =>
      onChange(event.target.value === '' && !required ? undefined : event.target.value),
  }
  return (
    <div className="field">
      <Label id={id} name={name} schema={schema} required={required} />
      {isLong ? <textarea {...shared} rows={3} /> : <input {...shared} type={INPUTS[format] ?? 'text'} />}
      <Hint id={hint} schema={schema} />
    </div>
  )
}

function placeholderOf(schema: Json, format: string): string {
  const [example] = Array.isArray(schema['examples']) ? schema['examples'] : []
  if (typeof example === 'string') return example
  const formats: Readonly<Record<string, string>> = {
    'date-time': '2026-01-31T12:00:00Z',
    time: '12:00:00Z',
    uuid: '00000000-0000-4000-8000-000000000000',
    duration: 'PT1H',
  }
  return formats[format] ?? ''
}

/** A value of any kind, as JSON. */
export function AnyField({ schema, name, value, required, onChange }: Resolved) {
  const { id, hint } = useField()
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, null, 2))
  const [problem, setProblem] = useState('')
  const change = (next: string) => {
    setText(next)
    try {
      onChange(next.trim() === '' ? undefined : JSON.parse(next))
      setProblem('')
    } catch {
      setProblem('This is not JSON yet; a text needs quotes.')
    }
  }
  return (
    <div className="field">
      <Label id={id} name={name} schema={schema} required={required} />
      <textarea
        id={id}
        aria-describedby={hint}
        aria-invalid={problem !== ''}
        className="mono"
        rows={2}
        value={text}
        onChange={(event) => change(event.target.value)}
      />
      {problem !== '' && <span className="field-problem">{problem}</span>}
      <Hint id={hint} schema={{ ...schema, description: schema['description'] ?? 'Any value, as JSON.' }} />
    </div>
  )
}
