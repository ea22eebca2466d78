// describe-limits.ts: adds to a description what a provider's subset cannot express, so that the model at least reads
// it. The server's own check still decides.
import { isObject } from '../../json.ts'
import type { Plain } from './portable.ts'

const SENTENCES: Readonly<Record<string, (value: unknown) => string | undefined>> = {
  minLength: (value) => `At least ${value} characters.`,
  maxLength: (value) => `At most ${value} characters.`,
  minItems: (value) => `At least ${value} items.`,
  maxItems: (value) => `At most ${value} items.`,
  minProperties: (value) => `At least ${value} properties.`,
  maxProperties: (value) => `At most ${value} properties.`,
  minimum: (value) => `At least ${value}.`,
  maximum: (value) => `At most ${value}.`,
  exclusiveMinimum: (value) => `More than ${value}.`,
  exclusiveMaximum: (value) => `Less than ${value}.`,
  multipleOf: (value) => `A multiple of ${value}.`,
  pattern: (value) => `Matches the pattern ${value}`,
  format: (value) => `Format: ${value}.`,
  uniqueItems: (value) => (value === true ? 'No item twice.' : undefined),
  default: (value) => `Default: ${short(value)}.`,
  const: (value) => `Always ${short(value)}.`,
  enum: (value) =>
    Array.isArray(value) ? `One of: ${value.slice(0, 50).map(short).join(', ')}.` : undefined,
}

/** Adds a sentence to the description of a part, which it changes. */
export function describe(part: Plain, words: string): Plain {
  part.description =
    typeof part.description === 'string' && part.description !== '' ? `${part.description} ${words}` : words
  return part
}

/** Describes in `part` the keywords of `schema` that `part` does not have. */
export function describeDropped(part: Plain, schema: Readonly<Plain>, dropped: readonly string[]): Plain {
  for (const key of dropped) {
    if (!Object.hasOwn(schema, key) || Object.hasOwn(part, key)) continue
    const sentence = SENTENCES[key]?.(schema[key])
    if (sentence !== undefined) describe(part, sentence)
  }
  return part
}

/** A free-form part in short: the names of what it may hold. */
export function describeShape(schema: Readonly<Plain>): string {
  const names = isObject(schema.properties) ? Object.keys(schema.properties) : []
  return names.length === 0 ? '' : ` Its properties: ${names.slice(0, 20).join(', ')}.`
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}
