// form.ts: the flat schema of an elicitation as a form for the user, and validation of the input. It knows no
// terminal and shows nothing; elicitation.ts does.
import { isObject, own } from '../json.ts'
import { INTERACTION_LIMITS } from '../limits.ts'
import { formatCheck } from './string-formats.ts'

export interface Option {
  readonly value: string
  readonly label: string
}

interface FieldBase {
  readonly name: string
  readonly title: string
  readonly description?: string
  readonly required: boolean
  /** The field seems to ask for a secret, which a form must not do. */
  readonly secret: boolean
}

export type Field =
  | (FieldBase & {
      readonly kind: 'text'
      readonly format?: string
      readonly minLength?: number
      readonly maxLength?: number
      readonly default?: string
    })
  | (FieldBase & {
      readonly kind: 'number'
      readonly integer: boolean
      readonly minimum?: number
      readonly maximum?: number
      readonly default?: number
    })
  | (FieldBase & { readonly kind: 'boolean'; readonly default?: boolean })
  | (FieldBase & { readonly kind: 'choice'; readonly options: readonly Option[]; readonly default?: string })
  | (FieldBase & {
      readonly kind: 'choices'
      readonly options: readonly Option[]
      readonly minItems?: number
      readonly maxItems?: number
      readonly default?: readonly string[]
    })

export interface Form {
  readonly fields: readonly Field[]
  /** A warning for the user, e.g. that a field looks like a password. */
  readonly warnings: readonly string[]
}

export type ReadForm =
  | { readonly ok: true; readonly form: Form }
  | { readonly ok: false; readonly problem: string }

export type Value = string | number | boolean | readonly string[]
export type Content = Readonly<Record<string, Value>>

export interface FieldProblem {
  readonly field: string
  readonly message: string
}

export type CheckedAnswer =
  | { readonly ok: true; readonly content: Content }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

const SECRET =
  /pass(?:word|wd|phrase|code)|\bpwd\b|secret|\btoken|api[\s_-]?key|access[\s_-]?key|private[\s_-]?key|credential|credit[\s_-]?card|card[\s_-]?number|\bcvv\b|\bcvc\b|\bssn\b|social[\s_-]?security|\bpin\b|\botp\b|one[\s_-]?time|seed[\s_-]?phrase/i

/** Parses `requestedSchema`. One field that is not understood makes the form unusable, and is named. */
export function readForm(schema: unknown): ReadForm {
  if (!isObject(schema)) return { ok: false, problem: 'the requested schema is not an object' }
  if (own(schema, 'type') !== undefined && schema.type !== 'object')
    return { ok: false, problem: 'the requested schema does not describe an object' }
  const properties = own(schema, 'properties') ?? {}
  if (!isObject(properties)) return { ok: false, problem: 'its properties are not an object' }
  const entries = Object.entries(properties)
  if (entries.length > INTERACTION_LIMITS.formFields)
    return { ok: false, problem: `it asks for ${entries.length} fields` }
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const fields: Field[] = []
  for (const [name, property] of entries) {
    const field = isObject(property) ? readField(name, property, required.has(name)) : undefined
    if (!field)
      return { ok: false, problem: `the field "${clip(name, 80)}" is of a kind that forms do not have` }
    fields.push(field)
  }
  const secrets = fields.filter((field) => field.secret)
  return {
    ok: true,
    form: {
      fields,
      warnings: secrets.map(
        (field) =>
          `"${field.title}" looks like a secret. A server must not ask for secrets this way: whatever is typed goes to it in the clear.`,
      ),
    },
  }
}

function readField(
  name: string,
  property: Readonly<Record<string, unknown>>,
  required: boolean,
): Field | undefined {
  const title = clip(text(property.title) ?? name, 200)
  const description = text(property.description)
  const base: FieldBase = {
    name,
    title,
    required,
    secret: SECRET.test(spaced(name)) || SECRET.test(title) || text(property.format) === 'password',
    ...(description !== undefined && { description: clip(description, INTERACTION_LIMITS.textChars) }),
  }
  const options = optionsOf(property)
  if (options) return choice(base, property, options)
  switch (property.type) {
    case 'string':
      return {
        ...base,
        kind: 'text',
        ...(typeof property.format === 'string' && { format: property.format }),
        ...count('minLength', property),
        ...count('maxLength', property),
        ...(typeof property.default === 'string' && { default: property.default }),
      }
    case 'number':
    case 'integer':
      return {
        ...base,
        kind: 'number',
        integer: property.type === 'integer',
        ...count('minimum', property),
        ...count('maximum', property),
        ...(typeof property.default === 'number' && { default: property.default }),
      }
    case 'boolean':
      return {
        ...base,
        kind: 'boolean',
        ...(typeof property.default === 'boolean' && { default: property.default }),
      }
    case 'array':
      return choices(base, property)
    default:
      return undefined
  }
}

function choices(base: FieldBase, property: Readonly<Record<string, unknown>>): Field | undefined {
  const several = isObject(property.items) ? optionsOf(property.items) : undefined
  if (!several) return undefined
  const preset = Array.isArray(property.default)
    ? property.default.filter((item) => typeof item === 'string')
    : []
  return {
    ...base,
    kind: 'choices',
    options: several,
    ...count('minItems', property),
    ...count('maxItems', property),
    ...(preset.length > 0 && { default: preset }),
  }
}

function choice(
  base: FieldBase,
  property: Readonly<Record<string, unknown>>,
  options: readonly Option[],
): Field {
  const preset = property.default
  const known = typeof preset === 'string' && options.some(({ value }) => value === preset)
  return { ...base, kind: 'choice', options, ...(known && { default: preset }) }
}

/** `enum` (with the older `enumNames`), or `oneOf` / `anyOf` of titled constants. */
function optionsOf(property: Readonly<Record<string, unknown>>): readonly Option[] | undefined {
  const { enum: values, enumNames: labels } = property
  if (Array.isArray(values)) {
    const names: unknown[] = Array.isArray(labels) ? labels : []
    return bounded(values.map((value, index) => option(value, names[index])))
  }
  const titled = property.oneOf ?? property.anyOf
  if (!Array.isArray(titled)) return undefined
  return bounded(titled.map((item) => (isObject(item) ? option(item.const, item.title) : undefined)))
}

function option(value: unknown, label: unknown): Option | undefined {
  return typeof value === 'string' ? { value, label: clip(text(label) ?? value, 200) } : undefined
}

function bounded(options: readonly (Option | undefined)[]): readonly Option[] | undefined {
  const known = options.filter((one) => one !== undefined)
  const usable = known.length === options.length && known.length > 0
  return usable && known.length <= INTERACTION_LIMITS.formOptions ? known : undefined
}

/** Validates the input against the form. Missing fields get their default; unknown fields are rejected. */
export function checkAnswer(form: Form, answer: unknown): CheckedAnswer {
  if (!isObject(answer))
    return { ok: false, problems: [{ field: '', message: 'the answer is not an object' }] }
  const problems: FieldProblem[] = []
  const content: [string, Value][] = []
  const known = new Set(form.fields.map(({ name }) => name))
  for (const key of Object.keys(answer))
    if (!known.has(key)) problems.push({ field: key, message: 'was not asked for' })
  for (const field of form.fields) {
    const given = own(answer, field.name)
    const value = given === undefined ? field.default : given
    if (value === undefined) {
      if (field.required) problems.push({ field: field.name, message: 'is required' })
      continue
    }
    const problem = fieldProblem(field, value)
    if (problem !== undefined) problems.push({ field: field.name, message: problem })
    // fieldProblem has checked the type above.
    else content.push([field.name, value as Value])
  }
  // fromEntries makes own properties, whatever their names.
  return problems.length > 0 ? { ok: false, problems } : { ok: true, content: Object.fromEntries(content) }
}

/** What is wrong with one value, as text that follows the field's title; undefined when it is valid. */
export function fieldProblem(field: Field, value: unknown): string | undefined {
  switch (field.kind) {
    case 'text': {
      if (typeof value !== 'string') return 'must be text'
      const length = [...value.slice(0, INTERACTION_LIMITS.answerChars + 1)].length
      if (value.length > INTERACTION_LIMITS.answerChars) return 'is too long'
      if (field.required && field.minLength === undefined && value === '') return 'is required'
      if (field.minLength !== undefined && length < field.minLength)
        return `must have at least ${field.minLength} characters`
      if (field.maxLength !== undefined && length > field.maxLength)
        return `must have at most ${field.maxLength} characters`
      const fits = formatCheck(field.format)
      return fits && !fits(value) && !(value === '' && !field.required)
        ? `must be a valid ${field.format}`
        : undefined
    }
    case 'number':
      if (typeof value !== 'number' || !Number.isFinite(value)) return 'must be a number'
      if (field.integer && !Number.isInteger(value)) return 'must be a whole number'
      if (field.minimum !== undefined && value < field.minimum) return `must be at least ${field.minimum}`
      if (field.maximum !== undefined && value > field.maximum) return `must be at most ${field.maximum}`
      return undefined
    case 'boolean':
      return typeof value === 'boolean' ? undefined : 'must be yes or no'
    case 'choice':
      return field.options.some((one) => one.value === value)
        ? undefined
        : `must be one of ${labels(field.options)}`
    case 'choices': {
      const values = new Set(field.options.map((one) => one.value))
      if (!Array.isArray(value) || !value.every((item) => values.has(item)))
        return `must be some of ${labels(field.options)}`
      if (new Set(value).size < value.length) return 'must not hold the same choice twice'
      if (field.minItems !== undefined && value.length < field.minItems)
        return `needs at least ${field.minItems} choices`
      if (field.maxItems !== undefined && value.length > field.maxItems)
        return `takes at most ${field.maxItems} choices`
      return undefined
    }
  }
}

function labels(options: readonly Option[]): string {
  const shown = options.slice(0, 10).map(({ value }) => value)
  return options.length > 10 ? `${shown.join(', ')}, …` : shown.join(', ')
}

function count<K extends string>(key: K, property: Readonly<Record<string, unknown>>): { [P in K]?: number } {
  const value = property[key]
  // The mapped type says the same as the check: the key exists only with a number.
  return (typeof value === 'number' && Number.isFinite(value) ? { [key]: value } : {}) as {
    [P in K]?: number
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value.trim() !== '' ? value : undefined
}

/** `apiKey` and `api_key` as words. */
function spaced(name: string): string {
  return name.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/[_-]+/g, ' ')
}

function clip(value: string, chars: number): string {
  return value.length > chars ? `${value.slice(0, chars - 1)}…` : value
}
