// expand.ts: `${VAR}` and `${VAR:-default}` in an entry, from a given environment, in one pass: a variable's value is
// never expanded again, so nothing can loop and only variables named in the entry are used.
import type { ServerEntry } from './entry.ts'
import { isInProcess, startsCommand } from './transport-traits.ts'

export interface Expansion {
  /** Where in the entry, e.g. `args[1]`. */
  readonly path: string
  readonly variable: string
  readonly from: 'environment' | 'default' | 'missing'
  readonly value?: string
}

export interface Expanded {
  readonly entry: ServerEntry
  readonly expansions: readonly Expansion[]
}

const NAME = /\$\{([A-Za-z_][A-Za-z0-9_]*)(\}|:-)/y
/** Limit for defaults nested inside defaults. */
const MAX_NESTING = 8

export function expandEntry(entry: ServerEntry, env: Readonly<Record<string, string | undefined>>): Expanded {
  const expansions: Expansion[] = []
  const text = (value: string, path: string) => expandText(value, path, env, expansions)
  const map = (values: Readonly<Record<string, string>>, path: string) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, text(value, `${path}.${key}`)]))

  if (isInProcess(entry)) return { entry, expansions }
  const roots = entry.roots && { roots: entry.roots.map((folder, index) => text(folder, `roots[${index}]`)) }
  if (startsCommand(entry))
    return {
      entry: {
        ...entry,
        ...roots,
        command: text(entry.command, 'command'),
        args: entry.args.map((arg, index) => text(arg, `args[${index}]`)),
        env: map(entry.env, 'env'),
        ...(entry.cwd !== undefined && { cwd: text(entry.cwd, 'cwd') }),
      },
      expansions,
    }
  const url = entry.url === undefined ? {} : { url: text(entry.url, 'url') }
  return {
    entry: { ...entry, ...roots, ...url, headers: map(entry.headers, 'headers') } as ServerEntry,
    expansions,
  }
}

function expandText(
  value: string,
  path: string,
  env: Readonly<Record<string, string | undefined>>,
  expansions: Expansion[],
  nesting = 0,
): string {
  let result = ''
  let at = 0
  for (;;) {
    const found = nesting < MAX_NESTING ? nextReference(value, at) : undefined
    if (!found) return result + value.slice(at)
    const { variable, fallback, start, end } = found
    const set = Object.hasOwn(env, variable) ? env[variable] : undefined
    // As in a shell, `:-` also replaces an empty value.
    const usable = fallback === undefined ? set : set || undefined
    result += value.slice(at, start)
    at = end
    if (usable !== undefined) {
      expansions.push({ path, variable, from: 'environment', value: usable })
      result += usable
    } else if (fallback !== undefined) {
      // The default was written by the author of the entry, so a variable it names counts as named.
      const inner = expandText(fallback, path, env, expansions, nesting + 1)
      expansions.push({ path, variable, from: 'default', value: inner })
      result += inner
    } else {
      expansions.push({ path, variable, from: 'missing' })
      result += value.slice(start, end)
    }
  }
}

interface Reference {
  readonly variable: string
  readonly fallback: string | undefined
  readonly start: number
  readonly end: number
}

function nextReference(text: string, from: number): Reference | undefined {
  for (let start = text.indexOf('${', from); start !== -1; start = text.indexOf('${', start + 1)) {
    NAME.lastIndex = start
    const [head = '', variable = '', sign] = NAME.exec(text) ?? []
    if (variable === '') continue
    const body = start + head.length
    if (sign === '}') return { variable, fallback: undefined, start, end: body }
    const close = closingBrace(text, body)
    // An open `${A:-` stays text; searching for the end of the later ones as well would make this quadratic.
    if (close === -1) return undefined
    return { variable, fallback: text.slice(body, close), start, end: close + 1 }
  }
  return undefined
}

/** The brace that ends a default; a reference inside the default has its own. */
function closingBrace(text: string, from: number): number {
  let open = 0
  for (let at = from; at < text.length; at++) {
    if (text.startsWith('${', at)) open++
    else if (text[at] === '}' && open-- === 0) return at
  }
  return -1
}
