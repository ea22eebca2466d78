// decode-arguments.ts: decodes arguments from a provider's form. A format records on its own schema what it changed
// (a property's name, a value, what is optional); the model's arguments are walked along that schema and become what
// the server expects.
import { isObject, own, put } from '../../json.ts'
import type { JsonSchema } from '../definition.ts'
import { partsOf } from '../schema/compile.ts'
import { resolveReference, survey } from '../schema/reference.ts'
import type { Plain } from './portable.ts'

/** What a format changed, by the part of its schema that the change belongs to. */
export class Changes {
  /** The object schema → its name for a property → the original name. */
  readonly names = new Map<object, ReadonlyMap<string, string>>()
  /** The object schema → properties whose null means that they are omitted. */
  readonly absent = new Map<object, ReadonlySet<string>>()
  /** Strings that stand for other values. */
  readonly values = new Map<object, ReadonlyMap<string, unknown>>()
  /** Strings that hold JSON. */
  readonly json = new Set<object>()

  get none(): boolean {
    return this.names.size + this.absent.size + this.values.size + this.json.size === 0
  }
}

export interface Encoded {
  readonly schema: Plain
  readonly changes: Changes
}

const DEPTH = 128

/** The arguments as the original schema expects them. */
export function decodeArguments(args: unknown, { schema, changes }: Encoded): Record<string, unknown> {
  // A provider's arguments are an object; the later check rejects anything else.
  if (changes.none || !isObject(args)) return args as Record<string, unknown>
  return new Decoder(schema, changes).decode(args, schema, 0) as Record<string, unknown>
}

class Decoder {
  readonly #changes: Changes
  readonly #accepts: (part: JsonSchema, value: unknown) => boolean
  readonly #resolve: (reference: string) => unknown

  constructor(root: Plain, changes: Changes) {
    this.#changes = changes
    this.#accepts = partsOf(root)
    const surveyed = survey(root)
    this.#resolve = (reference) =>
      surveyed.ok ? resolveReference(reference, surveyed.names, root) : undefined
  }

  decode(value: unknown, schema: unknown, depth: number): unknown {
    if (depth > DEPTH || !isObject(schema)) return value
    const parts = this.#partsFor(value, schema, depth)
    let decoded = value
    if (typeof value === 'string') {
      for (const part of parts) {
        const values = this.#changes.values.get(part)
        if (values?.has(value)) return values.get(value)
        if (this.#changes.json.has(part)) return readJson(value)
      }
    } else if (Array.isArray(value)) decoded = value.map((item, at) => this.#item(item, at, parts, depth))
    else if (isObject(value)) decoded = this.#object(value, parts, depth)
    return decoded
  }

  /** The schema, what it refers to, and those of its branches that match the value; all of them when none matches. */
  #partsFor(value: unknown, schema: Readonly<Plain>, depth: number): readonly Readonly<Plain>[] {
    if (depth > DEPTH) return []
    const parts: Readonly<Plain>[] = [schema]
    const add = (part: unknown) => {
      if (isObject(part)) parts.push(...this.#partsFor(value, part, depth + 1))
    }
    if (typeof schema.$ref === 'string') add(this.#resolve(schema.$ref))
    for (const part of Array.isArray(schema.allOf) ? schema.allOf : []) add(part)
    for (const list of [schema.anyOf, schema.oneOf])
      if (Array.isArray(list)) {
        const fitting = list.find((part: JsonSchema) => this.#accepts(part, value))
        for (const part of fitting === undefined ? list : [fitting]) add(part)
      }
    return parts
  }

  #item(item: unknown, at: number, parts: readonly Readonly<Plain>[], depth: number): unknown {
    for (const part of parts) {
      const listed = Array.isArray(part.prefixItems) ? part.prefixItems : []
      const schema = at < listed.length ? listed[at] : part.items
      if (isObject(schema)) return this.decode(item, schema, depth + 1)
    }
    return item
  }

  #object(value: Readonly<Plain>, parts: readonly Readonly<Plain>[], depth: number): Plain {
    const decoded: Plain = {}
    for (const [key, item] of Object.entries(value)) {
      const holder = parts.find((part) => isObject(part.properties) && Object.hasOwn(part.properties, key))
      if (!holder) {
        const rest = parts.find((part) => isObject(part.additionalProperties))?.additionalProperties
        put(decoded, key, this.decode(item, rest, depth + 1))
        continue
      }
      if (item === null && this.#changes.absent.get(holder)?.has(key)) continue
      const schema = own(holder.properties as Plain, key)
      put(decoded, this.#changes.names.get(holder)?.get(key) ?? key, this.decode(item, schema, depth + 1))
    }
    return decoded
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The model wrote a string where any value is allowed: then the string is the value.
    return text
  }
}
