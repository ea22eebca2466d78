// fields.ts: reads one entry field by field, checks types, translates variables and records which fields were read,
// so the unread ones can be reported. Both directions use it.
import { isObject, type JsonObject } from './tree.ts'
import type { ImportNote, Tell } from './types.ts'

/** A field has an unusable shape; the entry is left out. */
export class WrongShape extends Error {
  readonly field: string
  readonly expected: string
  constructor(field: string, expected: string) {
    super(`${field}: expected ${expected}`)
    this.field = field
    this.expected = expected
  }
}

export type Translate = (text: string, tell: Tell) => string

export class Fields {
  readonly server: string
  private readonly raw: JsonObject
  private readonly prefix: string
  private readonly notes: ImportNote[]
  private readonly translate: Translate
  private readonly taken = new Set<string>()

  constructor(server: string, raw: JsonObject, notes: ImportNote[], translate: Translate, prefix = '') {
    this.server = server
    this.raw = raw
    this.notes = notes
    this.translate = translate
    this.prefix = prefix
  }

  note(field: string, message: string): void {
    this.notes.push({ server: this.server, field: this.prefix + field, message })
  }

  /** Present, and not the `null` that some clients write for "unset". */
  has(key: string): boolean {
    return Object.hasOwn(this.raw, key) && this.raw[key] !== null && this.raw[key] !== undefined
  }

  /** The value, unchecked. */
  any(key: string): unknown {
    this.taken.add(key)
    return this.has(key) ? this.raw[key] : undefined
  }

  plain(key: string): string | undefined {
    return this.typed(key, 'a text', (value): value is string => typeof value === 'string')
  }

  text(key: string): string | undefined {
    const value = this.plain(key)
    return value === undefined ? undefined : this.translated(key, value)
  }

  boolean(key: string): boolean | undefined {
    return this.typed(key, 'true or false', (value): value is boolean => typeof value === 'boolean')
  }

  number(key: string): number | undefined {
    return this.typed(
      key,
      'a number that is not negative',
      (value): value is number => typeof value === 'number' && Number.isFinite(value) && value >= 0,
    )
  }

  plains(key: string): readonly string[] | undefined {
    return this.typed(
      key,
      'a list of texts',
      (value): value is string[] => Array.isArray(value) && value.every((item) => typeof item === 'string'),
    )
  }

  texts(key: string): readonly string[] | undefined {
    return this.plains(key)?.map((value, index) => this.translated(`${key}[${index}]`, value))
  }

  plainMap(key: string): Readonly<Record<string, string>> | undefined {
    return this.map(key, (_field, value) => value)
  }

  textMap(key: string): Readonly<Record<string, string>> | undefined {
    return this.map(key, (field, value) => this.translated(field, value))
  }

  object(key: string): Fields | undefined {
    const value = this.typed(key, 'an object', isObject)
    if (value === undefined) return undefined
    return new Fields(this.server, value, this.notes, this.translate, `${this.prefix}${key}.`)
  }

  /** A field that is understood but has no counterpart. */
  drop(key: string, message: string): void {
    if (this.has(key)) this.note(key, message)
    this.taken.add(key)
  }

  /** Notes every field that was not read. */
  leftovers(message: string): void {
    for (const key of Object.keys(this.raw))
      if (!this.taken.has(key) && this.has(key)) this.note(key, message)
  }

  private typed<T>(key: string, expected: string, is: (value: unknown) => value is T): T | undefined {
    const value = this.any(key)
    if (value === undefined) return undefined
    if (!is(value)) throw new WrongShape(this.prefix + key, expected)
    return value
  }

  private translated(field: string, value: string): string {
    return this.translate(value, (message) => this.note(field, message))
  }

  private map(
    key: string,
    convert: (field: string, value: string) => string,
  ): Readonly<Record<string, string>> | undefined {
    const value = this.typed(key, 'an object of texts', isObject)
    if (value === undefined) return undefined
    const pairs: [string, string][] = []
    for (const [name, item] of Object.entries(value)) {
      const field = `${key}.${name}`
      if (name === '__proto__') this.note(field, 'This name is not allowed; the value is left out.')
      else if (typeof item === 'string') pairs.push([name, convert(field, item)])
      else if (typeof item === 'number' || typeof item === 'boolean') pairs.push([name, String(item)])
      else if (item === null || item === undefined)
        this.note(field, 'Removing a variable has no counterpart; it is left out.')
      else throw new WrongShape(this.prefix + field, 'a text')
    }
    return Object.fromEntries(pairs)
  }
}

/** An object without the keys whose value is undefined or an empty object. */
export function compact(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && !isEmpty(value)),
  )
}

function isEmpty(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length === 0
}
