// gateway: facts about gateway.json, before a gateway uses it; and the administration of one that runs.
import { resolve } from 'node:path'
import { InvalidInput } from '@plugboard/core/errors'
import { faultText, type GatewayConfig, type LimitConfig, readGatewayConfig } from '@plugboard/gateway'
import { gatewayJsonSchema, readNamedTokens, resourceOf } from '@plugboard/gateway/parts'
import { type Invocation, words } from '../context.ts'
import { EXIT, table } from '../output.ts'
import { readText, tokensFile } from '../serve/gateway-file.ts'
import { administer, TOPICS } from './gateway-admin.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [topic = ''] = invocation.positionals
  if (topic === 'metrics' || Object.hasOwn(TOPICS, topic)) return await administer(invocation)
  const [what = ''] = words(
    invocation,
    ['check|schema|servers|sessions|users|tokens|limits|logins|replicas|audit|metrics', 'FILE'],
    1,
  )
  if (what === 'check') return await check(invocation)
  if (what === 'schema') {
    const schema = gatewayJsonSchema()
    invocation.output.result(schema, () => JSON.stringify(schema, null, 2))
    return EXIT.done
  }
  throw new InvalidInput(`There is no "gateway ${what}".`, {
    hint: '`plugboard gateway check FILE` explains a gateway.json, `plugboard gateway schema` prints its JSON Schema; `servers`, `sessions`, `users`, `tokens`, `limits`, `logins`, `replicas`, `audit` and `metrics` ask a running gateway.',
  })
}

/** What the file means, line by line; or every fault of it, and exit code 2. */
async function check(invocation: Invocation): Promise<number> {
  const { output } = invocation
  const [, name] = invocation.positionals
  if (name === undefined)
    throw new InvalidInput('FILE is missing.', { hint: 'Usage: plugboard gateway check FILE' })
  const file = resolve(invocation.cwd, name)
  const reading = readGatewayConfig(readText(file), file)
  if (!reading.ok) {
    output.result({ ok: false, file, faults: reading.faults }, () =>
      reading.faults.map((fault) => faultText(file, fault)).join('\n'),
    )
    return EXIT.usage
  }
  const { config } = reading
  const tokens = tokensFile(invocation, { file, config })
  const known = await readNamedTokens(tokens)
  const roles = Object.keys(config.roles ?? {})
  const warnings = known
    .filter(({ role }) => role !== undefined && !roles.includes(role))
    .map(
      ({ name: token, role }) =>
        `The token "${token}" has the role "${role}", which this file does not define: it is refused.`,
    )
  const rows = explained(config, `${tokens} (${known.length} ${known.length === 1 ? 'token' : 'tokens'})`)
  output.result({ ok: true, file, explained: Object.fromEntries(rows), warnings }, () => table(rows))
  for (const warning of warnings) output.note(warning)
  return EXIT.done
}

function explained(config: GatewayConfig, tokens: string): [string, string][] {
  return [
    ['address', config.publicUrl ?? 'not given: the address that `serve` prints'],
    ['named tokens', tokens],
    ...(config.auth?.issuers ?? []).map((one): [string, string] => [
      `issuer ${one.issuer}`,
      [
        `tokens for ${one.audience ?? resourceOf(config.publicUrl ?? '')}`,
        `groups in "${one.groupsClaim ?? 'groups'}"`,
        ...(one.scopes ? [`with the scopes ${one.scopes.join(' ')}`] : []),
        `keys at ${one.jwksUri ?? 'the address in its metadata'}`,
      ].join('; '),
    ]),
    ...(config.store === undefined ? [] : [['store', 'shared by several replicas'] as [string, string]]),
    ...(config.admin
      ? [
          ['administration', `port ${config.admin.port} on ${config.admin.host ?? '127.0.0.1'}`] as [
            string,
            string,
          ],
        ]
      : []),
    ...(config.audit?.stream
      ? [
          ['audit stream', `pb:audit in the store${config.audit.arguments ? ', with arguments' : ''}`] as [
            string,
            string,
          ],
        ]
      : []),
    ...(config.accessLog === undefined ? [] : [['access log', config.accessLog] as [string, string]]),
    ...Object.entries(config.isolation?.servers ?? {}).map(([server, kind]): [string, string] => [
      `server ${server}`,
      kind === 'shared' ? 'one for all users' : `an instance for every ${kind}`,
    ]),
    ...userLoginsExplained(config),
    ...limitsExplained(config),
    ...Object.entries(config.roles ?? {}).map(
      ([name, { groups = [], expose, deny = [] }]): [string, string] => [
        `role ${name}`,
        [
          groups.length > 0 ? `users in ${groups.join(', ')}` : 'only tokens made with `--role`',
          `sees ${expose ? expose.join(', ') : 'everything'}`,
          ...(deny.length > 0 ? [`never ${deny.join(', ')}`] : []),
        ].join('; '),
      ],
    ),
  ]
}

function userLoginsExplained({ userLogins }: GatewayConfig): [string, string][] {
  if (!userLogins) return []
  const { key = {}, servers, verify = [], minutes = 10 } = userLogins
  const [source = 'a file of its own in the state folder'] = [
    key.file !== undefined ? `the file ${key.file}` : undefined,
    key.command ? `the command ${key.command[0]}` : undefined,
    key.keychain !== undefined ? `the keychain (${key.keychain})` : undefined,
  ].filter((one) => one !== undefined)
  return [
    ["users' logins", `sealed with a key of ${source}; a login has to be finished within ${minutes} minutes`],
    ...verify.map(({ issuer }): [string, string] => [
      "users' browsers",
      `${issuer} is asked who their user is, before a login`,
    ]),
    ...Object.entries(servers).map(([server, { login, exchange, headers = {} }]): [string, string] => [
      `server ${server}`,
      [
        exchange
          ? `gets a token that ${exchange.issuer} exchanges for the user's own`
          : login === false
            ? 'users do not log in'
            : 'each user logs in with an account of its own',
        ...Object.entries(headers).map(([name, value]) => `is told ${name}: ${value}`),
      ].join('; '),
    ]),
  ]
}

function limitsExplained({ limits = {} }: GatewayConfig): [string, string][] {
  const told = (limit: LimitConfig) =>
    [
      ...(limit.concurrent ? [`${limit.concurrent} calls at a time`] : []),
      ...(limit.perMinute ? [`${limit.perMinute} per minute`] : []),
      ...(limit.perDay ? [`${limit.perDay} per day`] : []),
    ].join('; ') || 'no limit'
  return [
    ...(limits.user ? [['limit of every user', told(limits.user)] as [string, string]] : []),
    ...Object.entries(limits.roles ?? {}).map(([role, limit]): [string, string] => [
      `limit of role ${role}`,
      told(limit),
    ]),
    ...Object.entries(limits.tools ?? {}).map(([pattern, limit]): [string, string] => [
      `limit of ${pattern}`,
      `${told(limit)}, for each user`,
    ]),
  ]
}
