// server-draft.ts: an entry of a configuration file as fields of a form, and back. An entry with members that the form does
// not have is edited as JSON, so nothing of it is lost.

export interface Draft {
  readonly kind: 'command' | 'http' | 'sse' | 'ws' | 'json'
  readonly command: string
  readonly args: string
  readonly env: string
  readonly url: string
  readonly headers: string
  readonly json: string
}

export const EMPTY_DRAFT: Draft = {
  kind: 'command',
  command: '',
  args: '',
  env: '',
  url: '',
  headers: '',
  json: '{}',
}

const URL_KINDS = ['http', 'sse', 'ws'] as const
const COMMAND_KEYS = new Set(['type', 'command', 'args', 'env'])
const URL_KEYS = new Set(['type', 'url', 'headers'])

export function draftOf(entry: unknown): Draft {
  const given = (typeof entry === 'object' && entry !== null ? entry : {}) as Readonly<
    Record<string, unknown>
  >
  const has = (keys: ReadonlySet<string>) => Object.keys(given).every((key) => keys.has(key))
  const { type, command, args, env, url, headers } = given
  if (typeof command === 'string' && has(COMMAND_KEYS) && isTexts(args) && isPairs(env))
    return {
      ...EMPTY_DRAFT,
      kind: 'command',
      command,
      args: (args ?? []).join('\n'),
      env: Object.entries(env ?? {})
        .map(([name, value]) => `${name}=${value}`)
        .join('\n'),
    }
  if (typeof url === 'string' && has(URL_KEYS) && isPairs(headers))
    return {
      ...EMPTY_DRAFT,
      kind: URL_KINDS.find((kind) => kind === type) ?? 'http',
      url,
      headers: Object.entries(headers ?? {})
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n'),
    }
  return { ...EMPTY_DRAFT, kind: 'json', json: JSON.stringify(entry ?? {}, null, 2) }
}

/** Throws with a sentence when a line cannot be read. */
export function entryOf(draft: Draft): Readonly<Record<string, unknown>> {
  if (draft.kind === 'json') {
    const value: unknown = JSON.parse(draft.json)
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new Error('The entry has to be an object.')
    return value as Readonly<Record<string, unknown>>
  }
  if (draft.kind === 'command') {
    const args = lines(draft.args)
    const env = pairs(draft.env, '=')
    return {
      command: draft.command.trim(),
      ...(args.length > 0 && { args }),
      ...(Object.keys(env).length > 0 && { env }),
    }
  }
  const headers = pairs(draft.headers, ':')
  return { type: draft.kind, url: draft.url.trim(), ...(Object.keys(headers).length > 0 && { headers }) }
}

function lines(text: string): readonly string[] {
  return text.split('\n').filter((line) => line.trim() !== '')
}

function pairs(text: string, mark: string): Readonly<Record<string, string>> {
  return Object.fromEntries(
    lines(text).map((line) => {
      const at = line.indexOf(mark)
      if (at < 1) throw new Error(`"${line}" is not NAME${mark}value.`)
      return [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    }),
  )
}

function isTexts(value: unknown): value is readonly string[] | undefined {
  return (
    value === undefined ||
    (Array.isArray(value) &&
      value.every((one) => typeof one === 'string' && !one.includes('\n') && one.trim() !== ''))
  )
}

function isPairs(value: unknown): value is Readonly<Record<string, string>> | undefined {
  return (
    value === undefined ||
    (typeof value === 'object' &&
      value !== null &&
      Object.values(value).every((one) => typeof one === 'string' && !one.includes('\n')))
  )
}
