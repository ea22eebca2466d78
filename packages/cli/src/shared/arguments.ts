// arguments.ts: turns what the user typed after a tool's name into its arguments: `key=value` and `--key value` are typed
// by the tool's own schema, `key=@file` is a file's text, `key:=json` is JSON, a JSON object or `--args` gives several at
// once. The call validates the result.
import { InvalidInput } from '@plugboard/core/errors'
import { isObject, own } from '@plugboard/core/json'
import { TOOL_LIMITS } from '@plugboard/core/limits'
import { nearest } from '@plugboard/core/text/nearest'

export type Arguments = Readonly<Record<string, unknown>>

/** Reads the file of `key=@file`; `-` is standard input. */
export type ReadArgumentFile = (path: string) => Promise<Uint8Array>

export interface ArgumentSources {
  /** The words after the tool, in order. */
  readonly words: readonly string[]
  /** What `--args` gave. */
  readonly given?: string | undefined
  readonly schema: unknown
  readonly readFile: ReadArgumentFile
  /** The command's own options, for a hint about a typo. */
  readonly options?: readonly string[]
}

/** The arguments of a tool; later words win over earlier ones and over `--args`. */
export async function readArguments(sources: ArgumentSources): Promise<Arguments> {
  const { words, given, schema, readFile } = sources
  const found = new Map<string, unknown>(Object.entries(given === undefined ? {} : objectOf(given, '--args')))
  const lists = new Set<string>()
  for (const word of words) {
    if (word.trimStart().startsWith('{')) {
      for (const [key, value] of Object.entries(objectOf(word, 'The JSON after the tool')))
        found.set(key, value)
      continue
    }
    const { key, text, json } = word.startsWith('--') ? fromOption(word, sources) : split(word, schema)
    const type = schemaOf(schema, key)
    const content = await contentOf(text, key, type, schema, readFile)
    if (json) {
      found.set(key, parseJson(content, `The value of "${key}"`))
      continue
    }
    const value = typed(content, type, schema)
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

interface Pair {
  readonly key: string
  readonly text: string
  readonly json: boolean
}

/** `--key=value`, where the key may be spelled with dashes; `--key` alone is a yes. */
function fromOption(word: string, { schema, options = [] }: ArgumentSources): Pair {
  const at = word.indexOf('=')
  const typedKey = word.slice(2, at === -1 ? undefined : at).replace(/:$/, '')
  const json = at > 2 && word[at - 1] === ':'
  const { known, open } = namedArguments(schema)
  const plain = (key: string) => key.replaceAll(/[-_]/g, '').toLowerCase()
  const fits = known.filter((name) => plain(name) === plain(typedKey))
  const key = known.includes(typedKey) ? typedKey : fits.length === 1 ? (fits[0] ?? typedKey) : typedKey
  if (!known.includes(key) && !open) {
    const option = nearest(typedKey, [...options, ...known])
    throw new InvalidInput(
      `--${shown(typedKey)} is neither an option of \`plugboard call\` nor an argument of the tool.`,
      {
        hint:
          option !== undefined
            ? `Did you mean --${option}?`
            : known.length > 0
              ? `The tool takes ${known.slice(0, 20).map(shown).join(', ')}.`
              : 'The tool takes no arguments.',
      },
    )
  }
  if (at !== -1) return { key, text: word.slice(at + 1), json }
  const types = new Set(alternatives(schemaOf(schema, key), schema, 0).flatMap((part) => part.type ?? []))
  if (types.size > 0 && !types.has('boolean'))
    throw new InvalidInput(`--${shown(typedKey)} needs a value.`, {
      hint: `Write --${shown(typedKey)} VALUE or ${shown(key)}=VALUE.`,
    })
  return { key, text: 'true', json: true }
}

/** The text itself, or with `@` the text of a file. */
async function contentOf(
  text: string,
  key: string,
  schema: unknown,
  root: unknown,
  readFile: ReadArgumentFile,
): Promise<string> {
  if (!text.startsWith('@') || text === '@') return text
  const path = text.slice(1)
  const literal = `To send the text itself, write '${shown(key)}:=${shown(JSON.stringify(text))}'.`
  const bytes = await readFile(path).catch((error: unknown) => {
    if (error instanceof InvalidInput) throw error
    const { code } = error as NodeJS.ErrnoException
    throw new InvalidInput(`The file "${shown(path)}" for "${shown(key)}" cannot be read (${code}).`, {
      hint: literal,
      cause: error,
    })
  })
  if (
    alternatives(schema, root, 0).some((part) => part.contentEncoding === 'base64' || part.format === 'byte')
  )
    return Buffer.from(bytes).toString('base64')
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    throw new InvalidInput(`The file "${shown(path)}" for "${shown(key)}" is not UTF-8 text.`, {
      hint: 'A tool that takes bytes says so with contentEncoding "base64" in its schema.',
      cause,
    })
  }
}

/** The names that the schema lists, and whether it accepts others. */
function namedArguments(schema: unknown): { readonly known: readonly string[]; readonly open: boolean } {
  const parts = alternatives(schema, schema, 0)
  const known = parts.flatMap((part) => (isObject(part['properties']) ? Object.keys(part['properties']) : []))
  const open = parts.some(
    (part) => part['additionalProperties'] || part['patternProperties'] || part['unevaluatedProperties'],
  )
  return { known: [...new Set(known)], open }
}

/** Arguments that the schema does not name, where it names some and does not explicitly allow others. */
export function unknownArguments(
  args: Arguments,
  schema: unknown,
): { readonly unknown: readonly string[]; readonly known: readonly string[] } {
  const { known, open } = namedArguments(schema)
  const unknown = open || known.length === 0 ? [] : Object.keys(args).filter((key) => !known.includes(key))
  return { unknown, known }
}

/** `key=value`, `key=@file` and `--key value` for prompts: every argument of a prompt is text. */
export async function readTexts(
  words: readonly string[],
  readFile: ReadArgumentFile,
): Promise<Readonly<Record<string, string>>> {
  const texts = words.map(async (word): Promise<[string, string]> => {
    const { key, text } = split(word.startsWith('--') && word.includes('=') ? word.slice(2) : word)
    return [key, await contentOf(text, key, undefined, undefined, readFile)]
  })
  return Object.fromEntries(await Promise.all(texts))
}

function split(word: string, schema?: unknown): Pair {
  const at = word.indexOf('=')
  if (at <= 0) {
    const { known } = unknownArguments({}, schema)
    const takes = known.length > 0 ? ` It takes ${known.slice(0, 20).map(shown).join(', ')}.` : ''
    throw new InvalidInput(`"${shown(word)}" is not an argument.`, {
      hint: `Write key=value, key:=json, key=@file, or a JSON object.${takes}`,
    })
  }
  const json = word[at - 1] === ':' && at > 1
  return { key: word.slice(0, json ? at - 1 : at), text: word.slice(at + 1), json }
}

function objectOf(text: string, what: string): object {
  if (text.length > TOOL_LIMITS.argumentBytes * 2)
    throw new InvalidInput(`The arguments are larger than ${TOOL_LIMITS.argumentBytes / 1024 / 1024} MiB.`)
  const value = parseJson(text, what)
  if (!isObject(value))
    throw new InvalidInput(`${what} must be a JSON object.`, {
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
