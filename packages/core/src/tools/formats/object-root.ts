// object-root.ts: providers require `type: "object"` at the root and no choice, condition or reference beside it.
// What such keywords say about properties moves into one object; the server's own check covers the rest.
import { canonicalJson, isObject, put } from '../../json.ts'
import type { Plain } from './portable.ts'

/** Keywords that providers reject at the root. */
const REFUSED = ['$ref', 'allOf', 'anyOf', 'const', 'else', 'enum', 'if', 'not', 'oneOf', 'then']
/** How far branches inside branches are followed. */
const DEPTH = 8

type Definition = (reference: string) => Plain | undefined

/** Whether references may still lead to the root. */
export function isPlainRoot(root: unknown): boolean {
  if (!isObject(root)) return false
  const type = root.type
  return (type === undefined || type === 'object') && !REFUSED.some((key) => Object.hasOwn(root, key))
}

export function asObject(root: Plain, definition: Definition): Plain {
  const merged: Plain = { ...root, type: 'object', properties: {} }
  for (const key of [...REFUSED, 'required', 'dependentSchemas']) delete merged[key]
  const draft: Draft = { properties: new Map(), required: new Set() }
  merge(draft, root, definition, true, 0)
  for (const [name, forms] of draft.properties) put(merged.properties as Plain, name, oneOfForms(forms))
  const closed = root.additionalProperties === false
  const required = [...draft.required].filter((name) => draft.properties.has(name) || !closed)
  for (const name of required) if (!draft.properties.has(name)) put(merged.properties as Plain, name, {})
  if (required.length > 0) merged.required = required
  // One closed branch means nothing once the properties of all are here.
  if (closed && draft.properties.size > Object.keys(isObject(root.properties) ? root.properties : {}).length)
    delete merged.additionalProperties
  if (isObject(root.dependentSchemas)) merged.dependentSchemas = root.dependentSchemas
  return merged
}

interface Draft {
  /** Every schema of a property: those that all apply, and those of which one applies. */
  readonly properties: Map<string, { readonly all: Plain[]; readonly any: Plain[] }>
  readonly required: Set<string>
}

function merge(draft: Draft, part: Plain, definition: Definition, holds: boolean, depth: number): void {
  if (depth > DEPTH) return
  if (isObject(part.properties))
    for (const [name, form] of Object.entries(part.properties)) {
      const forms = draft.properties.get(name) ?? { all: [], any: [] }
      draft.properties.set(name, forms)
      addForm(holds ? forms.all : forms.any, form as Plain)
    }
  if (holds) for (const name of namesOf(part.required)) draft.required.add(name)
  const next = (inner: unknown, isHeld: boolean) => {
    if (isObject(inner)) merge(draft, inner as Plain, definition, isHeld, depth + 1)
  }
  if (typeof part.$ref === 'string') next(definition(part.$ref), holds)
  for (const inner of listOf(part.allOf)) next(inner, holds)
  for (const list of [listOf(part.anyOf), listOf(part.oneOf)]) {
    for (const inner of list) next(inner, false)
    if (holds) for (const name of requiredByAll(list, definition)) draft.required.add(name)
  }
  // The condition itself only tests; it promises nothing.
  for (const key of ['then', 'else']) next(part[key], false)
  if (isObject(part.dependentSchemas))
    for (const inner of Object.values(part.dependentSchemas)) next(inner, false)
}

function addForm(forms: Plain[], form: Plain): void {
  const text = canonicalJson(form)
  if (!forms.some((known) => canonicalJson(known) === text)) forms.push(form)
}

/** Branches that differ in a property give it the choice: `kind` may be what any of them says. */
function oneOfForms({ all, any }: { readonly all: readonly Plain[]; readonly any: readonly Plain[] }): Plain {
  const [first, ...more] = all
  // What always applies is enough; a branch only narrows it.
  if (first) return more.length === 0 ? first : { allOf: [first, ...more] }
  const [only, ...others] = any
  if (others.length === 0) return only ?? {}
  const constants = any.flatMap((form) => (Object.hasOwn(form, 'const') ? [form.const] : []))
  if (constants.length === any.length) return { ...described(any), enum: constants }
  return { ...described(any), anyOf: any }
}

function described(forms: readonly Plain[]): Plain {
  const text = forms.find((form) => typeof form.description === 'string')?.description
  return text === undefined ? {} : { description: text }
}

function requiredByAll(list: readonly unknown[], definition: Definition, depth = 0): readonly string[] {
  const [first, ...others] = list.map((part) => requiredBy(part, definition, depth))
  return [...(first ?? [])].filter((name) => others.every((names) => names.has(name)))
}

function requiredBy(part: unknown, definition: Definition, depth: number): ReadonlySet<string> {
  if (!isObject(part) || depth > DEPTH) return new Set()
  const inner = [
    ...(typeof part.$ref === 'string' ? [definition(part.$ref)] : []),
    ...listOf(part.allOf),
  ].flatMap((one) => [...requiredBy(one, definition, depth + 1)])
  const branches = [listOf(part.anyOf), listOf(part.oneOf)].flatMap((list) => [
    ...requiredByAll(list, definition, depth + 1),
  ])
  return new Set([...namesOf(part.required), ...inner, ...branches])
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function namesOf(value: unknown): readonly string[] {
  return listOf(value).filter((name) => typeof name === 'string')
}
