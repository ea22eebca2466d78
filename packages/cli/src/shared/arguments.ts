// arguments.ts: turns what the user typed after a tool's name into its arguments: `key=value` is typed by the
// tool's own schema, `key:=json` is JSON, `--args` takes a whole object. The call validates the result.
import { InvalidInput } from '@plugboard/core/errors'
import { isObject, own } from '@plugboard/core/json'
import { TOOL_LIMITS } from '@plugboard/core/limits'

export type Arguments = Readonly<Record<string, unknown>>

/** `key=value` and `key:=json`, over what `--args` gave. */
export function readArguments(
  words: readonly string[],
  given: string | undefined,
  schema: unknown,
): Arguments {
  const found = new Map<string, unknown>(Object.entries(given === undefined ? {} : objectOf(given)))
  const lists = new Set<string>()
  for (const word of words) {
    const { key, text, json } = split(word, schema)
    if (json) {
      found.set(key, parseJson(text, `The value of "${key}"`))
      continue
    }
    const type = schemaOf(schema, key)
    const value = typed(text, type, schema)
    // The same key again is one more item of a list.
    const before = found.get(key)
    if (lists.has(key) && Array.isArray(before))
      found.set(key, [...before, ...(Array.isArray(value) ? value : [value])])
    else found.set(key, value)
    if (Array.isArray(value)) lists.add(key)
  }
  // fromEntries makes own properties, whatever they are called; the call refuses the ones it must.
  return Object.fromEntries(found)
}

/** Arguments that the schema does not name, where it names some and does not explicitly allow others. */
export function unknownArguments(
  args: Arguments,
  schema: unknown,
): { readonly unknown: readonly string[]; readonly known: readonly string[] } {
  const parts = alternatives(schema, schema, 0)
  const known = parts.flatMap((part) => (isObject(part['properties']) ? Object.keys(part['properties']) : []))
  const welcome = parts.some(
    (part) => part['additionalProperties'] || part['patternProperties'] || part['unevaluatedProperties'],
  )
  const unknown = welcome || known.length === 0 ? [] : Object.keys(args).filter((key) => !known.includes(key))
  return { unknown, known }
}

/** `key=value` alone, for prompts: every argument of a prompt is text. */
export function readTexts(words: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(words.map((word) => split(word)).map(({ key, text }) => [key, text]))
}

function split(word: string, schema?: unknown): { key: string; text: string; json: boolean } {
  const at = word.indexOf('=')
  if (at <= 0) {
    const { known } = unknownArguments({}, schema)
    const takes = known.length > 0 ? ` It takes ${known.slice(0, 20).map(shown).join(', ')}.` : ''
    throw new InvalidInput(`"${shown(word)}" is not an argument.`, {
      hint: `Write key=value, key:=json, or --args with a JSON object.${takes}`,
    })
  }
  const json = word[at - 1] === ':' && at > 1
  return { key: word.slice(0, json ? at - 1 : at), text: word.slice(at + 1), json }
}

function objectOf(text: string): object {
  if (text.length > TOOL_LIMITS.argumentBytes * 2)
    throw new InvalidInput(`The arguments are larger than ${TOOL_LIMITS.argumentBytes / 1024 / 1024} MiB.`)
  const value = parseJson(text, '--args')
  if (!isObject(value))
    throw new InvalidInput('--args must be a JSON object.', {
      hint: `For example: --args '{"key": "value"}'`,
    })
  return value
}

function parseJson(text: string, what: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new InvalidInput(`${what} is not JSON: ${(error as Error).message}.`, {
      hint: "Quote it for the shell, for example 'count:=3' or --args '{\"count\": 3}'.",
    })
  }
}

type Schema = Readonly<Record<string, unknown>>

const DEPTH = 8

/** What the schema says about one argument. */
function schemaOf(root: unknown, key: string): unknown {
  for (const part of alternatives(root, root, 0)) {
    const properties = own(part, 'properties')
    if (isObject(properties) && Object.hasOwn(properties, key)) return properties[key]
  }
  return undefined
}

/** The schema itself and everything it is put together from, references followed within the document. */
function alternatives(schema: unknown, root: unknown, depth: number): readonly Schema[] {
  if (!isObject(schema) || depth > DEPTH) return []
  const parts: Schema[] = [schema]
  const ref = own(schema, '$ref')
  if (typeof ref === 'string') parts.push(...alternatives(pointed(root, ref), root, depth + 1))
  for (const keyword of ['anyOf', 'oneOf', 'allOf'])
    if (Array.isArray(schema[keyword]))
      for (const part of schema[keyword]) parts.push(...alternatives(part, root, depth + 1))
  return parts
}

function pointed(root: unknown, ref: string): unknown {
  if (!ref.startsWith('#/')) return ref === '#' ? root : undefined
  let at: unknown = root
  for (const step of ref.slice(2).split('/')) {
    if (!isObject(at)) return undefined
    at = own(at, decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~'))
  }
  return at
}

/** The value that the text stands for; text that does not fit stays text, and validation reports it. */
function typed(text: string, schema: unknown, root: unknown): unknown {
  const parts = alternatives(schema, root, 0)
  const choices = parts.flatMap((part) => [
    ...(Array.isArray(part.enum) ? part.enum : []),
    ...(Object.hasOwn(part, 'const') ? [part.const] : []),
  ])
  if (choices.length > 0) {
    const chosen = choices.find(
      (choice) => (typeof choice === 'string' ? choice : JSON.stringify(choice)) === text,
    )
    if (chosen !== undefined) return chosen
  }
  const types = new Set(parts.flatMap((part) => part.type ?? []))
  if (types.size === 0) return choices.length > 0 ? text : guessed(text)
  if (types.has('string')) return text
  if ((types.has('number') || types.has('integer')) && isNumber(text)) return Number(text)
  if (types.has('boolean') && Object.hasOwn(BOOLEANS, text.toLowerCase())) return BOOLEANS[text.toLowerCase()]
  if (types.has('null') && text === 'null') return null
  if (types.has('object') && text.trimStart().startsWith('{')) return jsonOr(text)
  if (types.has('array')) {
    if (text.trimStart().startsWith('[')) return jsonOr(text)
    const items = parts.map((part) => own(part, 'items')).find(isObject)
    return [typed(text, items, root)]
  }
  return text
}

const BOOLEANS: Readonly<Record<string, boolean>> = {
  true: true,
  yes: true,
  on: true,
  false: false,
  no: false,
  off: false,
}

function isNumber(text: string): boolean {
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text.trim()) && Number.isFinite(Number(text))
}

/** Without a type to go by, what looks like JSON is JSON. */
function guessed(text: string): unknown {
  return /^(true|false|null|[[{"].*|-?\d.*)$/s.test(text) ? jsonOr(text) : text
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // It only looked like JSON.
    return text
  }
}

function shown(word: string): string {
  return word.length > 60 ? `${word.slice(0, 60)}…` : word
}
