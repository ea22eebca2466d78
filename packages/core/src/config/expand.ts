// expand.ts: `${VAR}` and `${VAR:-default}` in an entry, from a given environment, in one pass: what a variable's
// value contains is never expanded again, so nothing can loop and nothing appears that nobody named.
import type { ServerEntry } from './entry.ts'

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

const VARIABLE = /\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}/g

export function expandEntry(entry: ServerEntry, env: Readonly<Record<string, string | undefined>>): Expanded {
  const expansions: Expansion[] = []
  const text = (value: string, path: string) => expandText(value, path, env, expansions)
  const map = (values: Readonly<Record<string, string>>, path: string) =>
    Object.fromEntries(Object.entries(values).map(([key, value]) => [key, text(value, `${path}.${key}`)]))

  if (entry.type === 'sdk') return { entry, expansions }
  if (entry.type === 'stdio')
    return {
      entry: {
        ...entry,
        command: text(entry.command, 'command'),
        args: entry.args.map((arg, index) => text(arg, `args[${index}]`)),
        env: map(entry.env, 'env'),
        ...(entry.cwd !== undefined && { cwd: text(entry.cwd, 'cwd') }),
      },
      expansions,
    }
  const url = entry.url === undefined ? {} : { url: text(entry.url, 'url') }
  return { entry: { ...entry, ...url, headers: map(entry.headers, 'headers') } as ServerEntry, expansions }
}

function expandText(
  value: string,
  path: string,
  env: Readonly<Record<string, string | undefined>>,
  expansions: Expansion[],
): string {
  if (!value.includes('${')) return value
  return value.replace(VARIABLE, (whole, variable: string, fallback: string | undefined) => {
    const set = Object.hasOwn(env, variable) ? env[variable] : undefined
    // As in a shell, `:-` also stands in for an empty value.
    const usable = fallback === undefined ? set : set || undefined
    if (usable !== undefined) {
      expansions.push({ path, variable, from: 'environment', value: usable })
      return usable
    }
    if (fallback !== undefined) {
      expansions.push({ path, variable, from: 'default', value: fallback })
      return fallback
    }
    expansions.push({ path, variable, from: 'missing' })
    return whole
  })
}
