// codex.ts: Codex's config.toml. It expands no variables inside a string; it has fields that name a variable instead
// (`env_vars`, `bearer_token_env_var`, `env_http_headers`), and our variables map to those.
import { stringify } from 'smol-toml'
import { clientFormat } from './client-format.ts'
import { compact, type Fields, WrongShape } from './fields.ts'
import {
  type Ability,
  CLIENT_SECRET,
  oauthOf,
  permissionsOf,
  requireOne,
  serverMap,
  UNKNOWN,
} from './servers.ts'
import { isObject, parseToml } from './tree.ts'
import { hasVariable, soleVariable, variable, variableStyle } from './variables.ts'
import { pathOf } from './vscode-family.ts'

const title = 'Codex'
const CAN: readonly Ability[] = [
  'stdio',
  'http',
  'cwd',
  'timeout',
  'connectTimeout',
  'disabled',
  'headersHelper',
  'oauth.clientId',
  'oauth.scopes',
  'oauth.callbackPort',
  'permissions.allowedTools',
  'permissions.deniedTools',
]
const style = variableStyle({ title, spell: undefined })
const BEARER = /^Bearer\s+(\S+)$/

export const codex = clientFormat({
  id: 'codex',
  title,
  can: CAN,
  style,
  rawMaps: true,
  syntax: { parse: parseToml, print: stringify },

  files(place) {
    const path = pathOf(place)
    return [
      { path: path.join(place.cwd, '.codex', 'config.toml'), scope: 'project' },
      {
        path: path.join(place.env.CODEX_HOME || path.join(place.home, '.codex'), 'config.toml'),
        scope: 'user',
      },
    ]
  },

  servers(document, notes) {
    if (document.mcp_oauth_callback_port !== undefined)
      notes.push({
        field: 'mcp_oauth_callback_port',
        message: 'The callback port is set for each server here: oauth.callbackPort.',
      })
    return serverMap(document.mcp_servers, 'mcp_servers', notes)
  },

  readEntry,

  printEntry(ours, fields) {
    const { command, args, cwd, url, timeout, connectTimeout, scopes, clientId, callbackPort } = ours
    return compact({
      ...{ command, args, cwd, url, scopes },
      ...(ours.kind === 'stdio'
        ? printEnv(ours.env ?? {}, fields)
        : printHeaders(ours.headers ?? {}, fields)),
      http_headers_helper: ours.headersHelper,
      oauth: compact({ client_id: clientId, callback_port: callbackPort }),
      startup_timeout_sec: connectTimeout === undefined ? undefined : connectTimeout / 1000,
      tool_timeout_sec: timeout === undefined ? undefined : timeout / 1000,
      enabled: ours.disabled ? false : undefined,
      enabled_tools: ours.allowedTools,
      disabled_tools: ours.deniedTools,
    })
  },

  document: (servers) => ({ mcp_servers: servers }),
})

function readEntry(fields: Fields): Record<string, unknown> {
  const command = fields.text('command')
  const seconds = fields.number('tool_timeout_sec')
  const startSeconds = fields.number('startup_timeout_sec')
  // An older name; Codex takes the seconds where both are there.
  const startMs = fields.number('startup_timeout_ms')
  const entry = compact({
    ...(command === undefined
      ? {
          type: 'http',
          url: fields.text('url'),
          headers: readHeaders(fields),
          headersHelper: fields.plain('http_headers_helper'),
          oauth: readOAuth(fields),
        }
      : { command, args: fields.texts('args'), env: readEnv(fields), cwd: fields.text('cwd') }),
    timeout: seconds === undefined ? undefined : Math.round(seconds * 1000),
    connectTimeout: startSeconds === undefined ? startMs : Math.round(startSeconds * 1000),
    disabled: fields.boolean('enabled') === false || undefined,
    permissions: permissionsOf(fields.plains('enabled_tools'), fields.plains('disabled_tools')),
  })
  requireOne(entry, 'a command or a url')
  fields.drop('bearer_token', 'A token in the file is refused by Codex too; use bearer_token_env_var.')
  fields.leftovers(UNKNOWN)
  return entry
}

function readOAuth(fields: Fields): unknown {
  const oauth = fields.object('oauth')
  oauth?.drop('client_secret', CLIENT_SECRET)
  const values = { clientId: oauth?.text('client_id'), callbackPort: oauth?.number('callback_port') }
  oauth?.leftovers(UNKNOWN)
  return oauthOf({ ...values, scopes: fields.plains('scopes') })
}

function readEnv(fields: Fields): Record<string, string> {
  const named: [string, string][] = []
  const list: unknown = fields.any('env_vars') ?? []
  if (!Array.isArray(list)) throw new WrongShape('env_vars', 'a list of names')
  for (const [index, item] of list.entries()) {
    if (typeof item === 'string') named.push([item, variable(item)])
    else if (isObject(item) && typeof item.name === 'string' && (item.source ?? 'local') === 'local')
      named.push([item.name, variable(item.name)])
    else fields.note(`env_vars[${index}]`, 'Only variables of this machine can be passed on; it is left out.')
  }
  return Object.fromEntries([
    ...named.filter(([name]) => name !== '__proto__'),
    ...Object.entries(fields.textMap('env') ?? {}),
  ])
}

function readHeaders(fields: Fields): Record<string, string> {
  const token = fields.plain('bearer_token_env_var')
  const named = Object.entries(fields.plainMap('env_http_headers') ?? {})
  return Object.fromEntries([
    ...Object.entries(fields.textMap('http_headers') ?? {}),
    ...named.map(([header, name]) => [header, variable(name)] as const),
    ...(token === undefined ? [] : [['Authorization', `Bearer ${variable(token)}`] as const]),
  ])
}

function printEnv(env: Readonly<Record<string, string>>, fields: Fields): Record<string, unknown> {
  const isPassed = ([name, value]: readonly [string, string]) => soleVariable(value) === name
  const passed = Object.entries(env).filter(isPassed)
  const rest = Object.entries(env).filter((pair) => !isPassed(pair))
  return {
    env: Object.fromEntries(rest.map(([name, value]) => [name, literal(fields, `env.${name}`, value)])),
    env_vars: passed.length > 0 ? passed.map(([name]) => name) : undefined,
  }
}

function printHeaders(headers: Readonly<Record<string, string>>, fields: Fields): Record<string, unknown> {
  let token: string | undefined
  const named: [string, string][] = []
  const rest: [string, string][] = []
  for (const [header, value] of Object.entries(headers)) {
    const bearer = soleVariable(BEARER.exec(value)?.[1] ?? '')
    const sole = soleVariable(value)
    if (bearer !== undefined && token === undefined && header.toLowerCase() === 'authorization')
      token = bearer
    else if (sole !== undefined) named.push([header, sole])
    else rest.push([header, literal(fields, `headers.${header}`, value)])
  }
  return {
    bearer_token_env_var: token,
    http_headers: Object.fromEntries(rest),
    env_http_headers: Object.fromEntries(named),
  }
}

function literal(fields: Fields, field: string, value: string): string {
  if (hasVariable(value)) style.print(value, (message) => fields.note(field, message))
  return value
}
