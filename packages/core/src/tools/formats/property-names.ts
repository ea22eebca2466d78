// property-names.ts: renames properties to names that a provider accepts. One original name has one other name
// throughout a schema, and it never collides with an existing name.
import { isObject, put } from '../../json.ts'
import { mapSubschemas, subschemas } from '../schema/positions.ts'
import { Changes, type Encoded } from './decode-arguments.ts'
import { describe } from './describe-limits.ts'
import type { Plain } from './portable.ts'

const NAME_CHARS = 64

/** The schema with valid names; a schema whose names are all valid is returned unchanged. */
export function renamed(schema: Plain, allowed: RegExp): Encoded {
  const names = new Set<string>()
  collect(schema, names)
  const changes = new Changes()
  const odd = [...names].filter((name) => !allowed.test(name))
  if (odd.length === 0) return { schema, changes }
  const aliases = new Map<string, string>()
  for (const name of odd) aliases.set(name, freeName(name, allowed, names))
  return { schema: rename(schema, aliases, changes), changes }
}

/** portable() has bounded how deep this goes. */
function collect(schema: unknown, names: Set<string>): void {
  if (!isObject(schema)) return
  if (isObject(schema.properties)) for (const name of Object.keys(schema.properties)) names.add(name)
  for (const part of subschemas(schema)) collect(part.schema, names)
}

function freeName(name: string, allowed: RegExp, names: Set<string>): string {
  const plain = name.replace(/[^A-Za-z0-9_]+/g, '_').slice(0, NAME_CHARS - 4)
  const start = allowed.test(plain) ? plain : `p_${plain}`.slice(0, NAME_CHARS - 4)
  let free = start
  for (let count = 2; names.has(free); count++) free = `${start}_${count}`
  names.add(free)
  return free
}

function rename(schema: unknown, aliases: ReadonlyMap<string, string>, changes: Changes): Plain {
  if (!isObject(schema)) return schema as Plain
  const plain = mapSubschemas(schema, (part) => rename(part, aliases, changes))
  const alias = (name: string) => aliases.get(name) ?? name
  if (isObject(plain.properties)) {
    const originals = new Map<string, string>()
    const properties: Plain = {}
    for (const [name, part] of Object.entries(plain.properties)) {
      const given = alias(name)
      if (given !== name) originals.set(given, name)
      put(properties, given, given === name ? part : named(part as Plain, name))
    }
    plain.properties = properties
    if (originals.size > 0) changes.names.set(plain, originals)
  }
  if (Array.isArray(plain.required)) plain.required = plain.required.map((name) => alias(String(name)))
  for (const key of ['dependentRequired', 'dependentSchemas'])
    if (isObject(plain[key])) {
      const renamedKeys: Plain = {}
      for (const [name, rule] of Object.entries(plain[key]))
        put(renamedKeys, alias(name), Array.isArray(rule) ? rule.map((one) => alias(String(one))) : rule)
      plain[key] = renamedKeys
    }
  return plain
}

/** Tells the model the property's real name. The part is a copy already, and changes are recorded by identity. */
function named(part: Plain, name: string): Plain {
  return describe(part, `The real name is ${JSON.stringify(name.slice(0, 200))}.`)
}
