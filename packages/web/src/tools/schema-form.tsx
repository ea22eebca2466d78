// schema-form.tsx: a form made from a JSON Schema. Its value is the JSON that would be sent; a field that is left empty is not
// in it. What a schema says and no field can show is written as JSON.
import { useState } from 'react'
import { Button, IconButton } from '../parts/basics.tsx'
import { plural } from '../parts/format.ts'
import type { Json } from '../state/types.ts'
import {
  AnyField,
  BooleanField,
  EnumField,
  type FieldProps,
  Hint,
  Label,
  NumberField,
  type Resolved,
  StringField,
  titleOf,
  useField,
} from './field-inputs.tsx'
import { firstValue, isObject, kindOf, resolved, variantOf, variantsOf, variantTitle } from './schema.ts'

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
        {titleOf(schema, name)}{' '}
        <span className="dim">{items.length === 0 ? 'list' : plural(items.length, 'item')}</span>{' '}
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
          <ItemActions at={at} count={items.length} move={move} remove={remove} />
        </div>
      ))}
      <Button icon="plus" onClick={() => onChange([...items, firstValue(of, root, true)])}>
        Add to {titleOf(schema, name)}
      </Button>
    </fieldset>
  )
}

interface ItemActionsProps {
  readonly at: number
  readonly count: number
  readonly move: (at: number, by: number) => void
  readonly remove: (at: number) => void
}

function ItemActions({ at, count, move, remove }: ItemActionsProps) {
  const item = `item ${at + 1}`
  return (
    <div className="array-actions">
      <IconButton icon="up" label={`Move ${item} up`} disabled={at === 0} onClick={() => move(at, -1)} />
      <IconButton
        icon="down"
        label={`Move ${item} down`}
        disabled={at === count - 1}
        onClick={() => move(at, 1)}
      />
      <IconButton icon="trash" label={`Remove ${item}`} onClick={() => remove(at)} />
    </div>
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
