// gateway-admin.ts: `plugboard gateway servers|sessions|users|tokens|limits|logins|replicas|audit|metrics`: asks the administration of a running gateway.
import { InvalidInput, IoError } from '@plugboard/core/errors'
import type { Invocation } from '../context.ts'
import { EXIT, table } from '../output.ts'
import { adminToken } from '../serve/admin.ts'
import { gatewayOption } from '../serve/gateway-file.ts'

/** A drain waits for the calls that run. */
const TIMEOUT_MS = 120_000

interface Topic {
  /** By the word that the user types: the HTTP method, and the action in the path. */
  readonly actions: Readonly<Record<string, readonly [method: string, action?: string]>>
  /** An action takes one more word: the part of the thing that is meant. */
  readonly details?: boolean
  rows(answer: Answer): readonly (readonly string[])[]
}

/** What the administration answers: this command and the gateway are of one release. */
// biome-ignore lint/suspicious/noExplicitAny: printed as it comes
type Answer = any

export const TOPICS: Readonly<Record<string, Topic>> = {
  servers: {
    actions: {
      reconnect: ['POST', 'reconnect'],
      drain: ['POST', 'drain'],
      disable: ['POST', 'disable'],
      enable: ['POST', 'enable'],
    },
    rows: ({ servers }) =>
      servers.map((one: Answer) => [
        one.name,
        one.state,
        `${one.tools} tools`,
        one.circuit && one.circuit.state !== 'closed' ? `circuit ${one.circuit.state}` : '',
        one.error ?? one.reason ?? '',
      ]),
  },
  sessions: {
    actions: { end: ['DELETE'] },
    rows: ({ sessions }) =>
      sessions.map((one: Answer) => [
        one.id,
        one.user ?? '-',
        one.client ?? '-',
        one.streaming ? 'stream' : '-',
        `idle ${one.idleSeconds} s`,
      ]),
  },
  users: {
    actions: { revoke: ['POST', 'revoke'], restore: ['POST', 'restore'] },
    rows: ({ users, revoked }) => [
      ...users.map((one: Answer) => [
        one.name,
        one.roles.join(', ') || '-',
        one.sessions === undefined
          ? `last seen ${new Date(one.lastSeen).toISOString()}`
          : `${one.sessions} sessions`,
        one.key.slice(0, 12),
      ]),
      ...revoked.map((one: Answer) => [one.name, 'revoked', new Date(one.at).toISOString()]),
    ],
  },
  tokens: {
    actions: {},
    rows: ({ tokens }) =>
      tokens.map((one: Answer) => [
        one.name,
        one.role ?? '-',
        one.expires === undefined ? 'no end' : `until ${new Date(one.expires).toISOString()}`,
        one.lastUsed === undefined ? 'never used' : `last used ${new Date(one.lastUsed).toISOString()}`,
      ]),
  },
  limits: {
    actions: {},
    rows: ({ calls: { user, roles = {}, tools = {} }, running }) => [
      ...(user ? [['every user', limitText(user)]] : []),
      ...Object.entries(roles).map(([role, limit]) => [`role ${role}`, limitText(limit)]),
      ...Object.entries(tools).map(([pattern, limit]) => [`tools ${pattern}`, limitText(limit)]),
      ...running.map((one: Answer) => [`running for ${one.of.slice(0, 12)}`, `${one.calls} calls`]),
    ],
  },
  logins: {
    actions: { revoke: ['DELETE'] },
    details: true,
    rows: ({ logins }) =>
      logins.map((one: Answer) => [
        one.user,
        one.server === '*' ? '* (single sign-on)' : one.server,
        one.issuer,
        one.renewable
          ? 'renews itself'
          : `until ${one.expires ? new Date(one.expires).toISOString() : 'refused'}`,
        one.key.slice(0, 12),
      ]),
  },
  audit: {
    actions: {},
    rows: ({ lines }) =>
      lines.map(({ replica, sealed, line }: Answer) => [
        String(line.time ?? ''),
        sealed ? replica : 'NOT SEALED',
        String(line.user ?? line.caller ?? ''),
        line.server === undefined ? '' : `${line.server}.${line.tool}`,
        String(line.decision ?? line.kind ?? ''),
        String(line.outcome ?? line.count ?? ''),
      ]),
  },
  replicas: {
    actions: {},
    rows: ({ id, status, replicas, storeUp }) => [
      ...(id === undefined ? [] : [[id, 'this one', ...replicaWords(status)]]),
      ...replicas.map((one: Answer) => [one.id, one.url, ...replicaWords(one.status)]),
      ...(storeUp === false ? [['store', 'cannot be reached: the others are as they were last seen']] : []),
    ],
  },
}

/** Of a replica that told how it does. */
function replicaWords(status: Answer | undefined): string[] {
  if (!status) return []
  const { version, startedAt, sessions, running, calls, memory, draining } = status
  const state = draining ? 'draining' : `up ${Math.round((Date.now() - startedAt) / 60_000)} min`
  return [
    version,
    state,
    `${sessions} sessions`,
    `${running} running`,
    `${calls} calls`,
    `${Math.round(memory / 1e6)} MB`,
  ]
}

export async function administer(invocation: Invocation): Promise<number> {
  const { output, positionals } = invocation
  const [what = '', action, name, ...rest] = positionals
  const gateway = gatewayOption(invocation)
  if (!gateway)
    throw new InvalidInput('Which gateway is meant is missing.', {
      hint: 'Add `--gateway gateway.json`, the file with "admin": {"port": …} that it runs with.',
    })
  if (!gateway.config.admin)
    throw new InvalidInput(`${gateway.file} opens no port for the administration.`, {
      hint: 'Write "admin": {"port": 7338} into it and start the gateway again.',
    })
  const { port, host = '127.0.0.1' } = gateway.config.admin
  const token = await adminToken(invocation, gateway, 'refuse')
  const base = `http://${host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host}:${port}`
  if (what === 'metrics') {
    const text = await (await ask(`${base}/metrics`, 'GET', token)).text()
    output.result({ metrics: text }, () => text.trimEnd())
    return EXIT.done
  }
  const topic = TOPICS[what]
  const [detail, ...more] = topic?.details ? rest : [undefined, ...rest]
  const known = action === undefined ? undefined : topic?.actions[action]
  if (!topic || (action !== undefined && !known) || more.length > 0 || (known && name === undefined))
    throw new InvalidInput(usageFault(what, topic, action, name), {
      hint: `Usage: plugboard gateway ${what} [${Object.keys(topic?.actions ?? {}).join('|')} NAME${topic?.details ? ' [SERVER]' : ''}] --gateway FILE`,
    })
  const path = known
    ? [what, name ?? '', ...(known[1] ? [known[1]] : []), ...(detail === undefined ? [] : [detail])]
    : [what]
  const url = `${base}/${path.map(encodeURIComponent).join('/')}`
  const response = await ask(url, known?.[0] ?? 'GET', token)
  const answer: Answer = await response.json()
  if (!response.ok) throw new InvalidInput(String(answer.error))
  output.result(answer, () => (known ? `Done: ${action} ${name}.` : table(topic.rows(answer))))
  return EXIT.done
}

function limitText(limit: Answer): string {
  const parts = Object.entries({
    'at a time': limit.concurrent,
    'per minute': limit.perMinute,
    'at once': limit.burst,
    'per day': limit.perDay,
  })
  const told = parts.flatMap(([what, count]) => (count === undefined ? [] : [`${count} ${what}`]))
  return told.join('; ') || 'no limit'
}

function usageFault(
  what: string,
  topic: Topic | undefined,
  action: string | undefined,
  name: string | undefined,
): string {
  if (!topic) return `There is no "gateway ${what}".`
  if (action !== undefined && !topic.actions[action]) return `There is no "gateway ${what} ${action}".`
  return name === undefined ? 'NAME is missing.' : 'There is one argument too many.'
}

async function ask(url: string, method: string, token: string): Promise<Response> {
  try {
    return await fetch(url, {
      method,
      headers: { Authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
  } catch (error) {
    throw new IoError(`No gateway answers at ${new URL(url).origin}.`, {
      hint: 'Is it running with this gateway.json? "admin.port" takes effect at the next start.',
      cause: error,
    })
  }
}
