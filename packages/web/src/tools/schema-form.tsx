// schema-form.tsx: a form made from a JSON Schema. Its value is the JSON that would be sent; a field that is left empty is not
// in it. What a schema says and no field can show is written as JSON.
import { useId, useState } from 'react'
import { Button, IconButton } from '../parts/basics.tsx'
import type { Json } from '../state/types.ts'
import {
  firstValue,
  isObject,
  kindOf,
  limitsOf,
  resolved,
  variantOf,
  variantsOf,
  variantTitle,
} from './schema.ts'

export interface FieldProps {
  readonly schema: unknown
  readonly root: Json
  readonly name: string
  readonly value: unknown
  readonly required: boolean
  readonly depth: number
  readonly onChange: (value: unknown) => void
}

const DEPTH = 8

/** The members of an object, each with its field. */
export function ObjectFields({
  schema: given,
  root,
  value,
  depth,
  onChange,
}: Omit<FieldProps, 'name' | 'required'>) {
  const schema = resolved(given, root)
  const properties = Object.entries((schema['properties'] ?? {}) as Json)
  const required = new Set((schema['required'] ?? []) as readonly string[])
  const members = isObject(value) ? value : {}
  const set = (name: string, next: unknown) => onChange({ ...members, [name]: next })
  const ordered = [
    ...properties.filter(([name]) => required.has(name)),
    ...properties.filter(([name]) => !required.has(name)),
  ]
  return (
    <>
      {ordered.map(([name, property]) => (
        <SchemaField
          key={name}
          name={name}
          schema={property}
          root={root}
          value={members[name]}
          required={required.has(name)}
          depth={depth}
          onChange={(next) => set(name, next)}
        />
      ))}
      {schema['additionalProperties'] !== undefined && schema['additionalProperties'] !== false && (
        <MoreMembers
          schema={schema['additionalProperties'] === true ? {} : schema['additionalProperties']}
          root={root}
          value={members}
          known={new Set(properties.map(([name]) => name))}
          depth={depth}
          onChange={onChange}
        />
      )}
    </>
  )
}

export function SchemaField(props: FieldProps) {
  const schema = resolved(props.schema, props.root)
  const kind = props.depth > DEPTH ? 'any' : kindOf(schema)
  const own = { ...props, schema }
  switch (kind) {
    case 'object':
      return <ObjectField {...own} />
    case 'array':
      return <ArrayField {...own} />
    case 'variants':
      return <VariantField {...own} />
    case 'boolean':
      return <BooleanField {...own} />
    case 'enum':
    case 'const':
      return <EnumField {...own} />
    case 'number':
    case 'integer':
      return <NumberField {...own} />
    case 'string':
      return <StringField {...own} />
    default:
      return <AnyField {...own} />
  }
}

type Resolved = Omit<FieldProps, 'schema'> & { readonly schema: Json }

function Label({
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

function titleOf(schema: Json, name: string): string {
  return typeof schema['title'] === 'string' ? schema['title'] : name
}

function Hint({ id, schema }: { readonly id: string; readonly schema: Json }) {
  const description = typeof schema['description'] === 'string' ? schema['description'] : ''
  const limits = limitsOf(schema)
  if (description === '' && limits === '') return null
  return (
    <span className="field-hint" id={id}>
      {description} {limits !== '' && <span className="dim">{limits}</span>}
    </span>
  )
}

function useField() {
  const id = useId()
  return { id, hint: `${id}hint` }
}

function ObjectField({ schema, root, name, value, required, depth, onChange }: Resolved) {
  const { hint } = useField()
  const isThere = value !== undefined
  return (
    <fieldset className="group">
      <legend>
        {titleOf(schema, name)} {!required && <span className="optional">optional</span>}
      </legend>
      <Hint id={hint} schema={schema} />
      {isThere || required ? (
        <ObjectFields schema={schema} root={root} value={value} depth={depth + 1} onChange={onChange} />
      ) : (
        <Button icon="plus" onClick={() => onChange(firstValue(schema, root, true) ?? {})}>
          Add {titleOf(schema, name)}
        </Button>
      )}
      {isThere && !required && (
        <Button tone="quiet" onClick={() => onChange(undefined)}>
          Leave out
        </Button>
      )}
    </fieldset>
  )
}

function ArrayField({ schema, root, name, value, required, depth, onChange }: Resolved) {
  const { hint } = useField()
  const items = Array.isArray(value) ? value : []
  const of = schema['items'] ?? {}
  const replace = (at: number, next: unknown) =>
    onChange(items.map((item, index) => (index === at ? next : item)))
  const move = (at: number, by: number) => {
    const next = [...items]
    const [item] = next.splice(at, 1)
    next.splice(at + by, 0, item)
    onChange(next)
  }
  const remove = (at: number) => {
    const next = items.filter((_, index) => index !== at)
    onChange(next.length === 0 && !required ? undefined : next)
  }
  return (
    <fieldset className="group">
      <legend>
        {titleOf(schema, name)} <span className="dim">{items.length === 0 ? 'list' : items.length}</span>{' '}
        {!required && <span className="optional">optional</span>}
      </legend>
      <Hint id={hint} schema={schema} />
      {items.map((item, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the place in the list is the identity of an item
        <div key={at} className="array-item">
          <div className="array-field">
            <SchemaField
              name={`${titleOf(schema, name)} ${at + 1}`}
              schema={of}
              root={root}
              value={item}
              required
              depth={depth + 1}
              onChange={(next) => replace(at, next)}
            />
          </div>
          <div className="array-actions">
            <IconButton
              icon="up"
              label={`Move item ${at + 1} up`}
              disabled={at === 0}
              onClick={() => move(at, -1)}
            />
            <IconButton
              icon="down"
              label={`Move item ${at + 1} down`}
              disabled={at === items.length - 1}
              onClick={() => move(at, 1)}
            />
            <IconButton icon="trash" label={`Remove item ${at + 1}`} onClick={() => remove(at)} />
          </div>
        </div>
      ))}
      <Button icon="plus" onClick={() => onChange([...items, firstValue(of, root, true)])}>
        Add to {titleOf(schema, name)}
      </Button>
    </fieldset>
  )
}

function VariantField({ schema, root, name, value, required, depth, onChange }: Resolved) {
  const { id, hint } = useField()
  const variants = variantsOf(schema)
  const [chosen, setChosen] = useState(() =>
    value === undefined && !required ? -1 : variantOf(variants, root, value),
  )
  const variant = variants[chosen]
  const choose = (index: number) => {
    setChosen(index)
    onChange(index < 0 ? undefined : firstValue(variants[index], root, true))
  }
  return (
    <fieldset className="group">
      <legend>{titleOf(schema, name)}</legend>
      <Hint id={hint} schema={schema} />
      <div className="field">
        <Label id={id} name={`Kind of ${titleOf(schema, name)}`} schema={{}} required={required} />
        <select id={id} value={chosen} onChange={(event) => choose(Number(event.target.value))}>
          {!required && <option value={-1}>left out</option>}
          {variants.map((one, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: variants are told apart by their place
            <option key={at} value={at}>
              {variantTitle(one, root, at)}
            </option>
          ))}
        </select>
      </div>
      {variant && (
        <SchemaField
          key={chosen}
          name={variantTitle(variant, root, chosen)}
          schema={variant}
          root={root}
          value={value}
          required
          depth={depth + 1}
          onChange={onChange}
        />
      )}
    </fieldset>
  )
}

function BooleanField({ schema, name, value, required, onChange }: Resolved) {
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

function EnumField({ schema, name, value, required, onChange }: Resolved) {
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

function NumberField({ schema, name, value, required, onChange }: Resolved) {
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

function StringField({ schema, name, value, required, onChange }: Resolved) {
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
function AnyField({ schema, name, value, required, onChange }: Resolved) {
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

interface MoreMembersProps {
  readonly schema: unknown
  readonly root: Json
  readonly value: Json
  readonly known: ReadonlySet<string>
  readonly depth: number
  readonly onChange: (value: unknown) => void
}

/** Members whose names the schema leaves open. */
function MoreMembers({ schema, root, value, known, depth, onChange }: MoreMembersProps) {
  const [name, setName] = useState('')
  const { id } = useField()
  const more = Object.entries(value).filter(([key, one]) => !known.has(key) && one !== undefined)
  const wanted = name.trim()
  const add = () => {
    if (wanted === '' || known.has(wanted)) return
    onChange({ ...value, [wanted]: firstValue(schema, root, true) ?? '' })
    setName('')
  }
  return (
    <div className="stack-tight">
      {more.map(([key, one]) => (
        <div key={key} className="array-item">
          <div className="array-field">
            <SchemaField
              name={key}
              schema={schema}
              root={root}
              value={one}
              required
              depth={depth + 1}
              onChange={(next) => onChange({ ...value, [key]: next })}
            />
          </div>
          <IconButton
            icon="trash"
            label={`Remove ${key}`}
            onClick={() => onChange({ ...value, [key]: undefined })}
          />
        </div>
      ))}
      <div className="bar">
        <label className="visually-hidden" htmlFor={id}>
          Name of another member
        </label>
        <input id={id} value={name} placeholder="name" onChange={(event) => setName(event.target.value)} />
        <Button icon="plus" disabled={wanted === '' || known.has(wanted)} onClick={add}>
          Add member
        </Button>
      </div>
    </div>
  )
}
