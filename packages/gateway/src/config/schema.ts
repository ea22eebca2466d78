// schema.ts: the shape of gateway.json: its types, the schema that checks it, and the same as JSON Schema for editors. What
// the values mean together is checked in check-config.ts.
import { isObject } from '@plugboard/core/json'
import * as z from 'zod/mini'
import { KEY_DESCRIPTIONS } from './key-descriptions.ts'

/** An identity provider whose access tokens are accepted. */
export interface IssuerConfig {
  readonly issuer: string
  readonly audience?: string | undefined
  readonly jwksUri?: string | undefined
  readonly groupsClaim?: string | undefined
  readonly userClaim?: string | undefined
  readonly scopes?: readonly string[] | undefined
  readonly clockSkewSeconds?: number | undefined
}

export interface RoleConfig {
  readonly groups?: readonly string[] | undefined
  readonly expose?: readonly string[] | undefined
  readonly deny?: readonly string[] | undefined
}

/** How many calls one user may make. */
export interface LimitConfig {
  readonly concurrent?: number | undefined
  readonly perMinute?: number | undefined
  readonly burst?: number | undefined
  readonly perDay?: number | undefined
}

export interface CallLimitsConfig {
  readonly user?: LimitConfig | undefined
  readonly roles?: Readonly<Record<string, LimitConfig>> | undefined
  readonly tools?: Readonly<Record<string, LimitConfig>> | undefined
}

/** The files of a certificate with its chain, and of its key, in PEM. */
export interface TlsConfig {
  readonly cert: string
  readonly key: string
}

export type IsolationKind = 'shared' | 'user' | 'session'

/** Which servers users, or sessions, have for themselves. */
export interface IsolationConfig {
  readonly servers?: Readonly<Record<string, IsolationKind>> | undefined
  readonly idleMinutes?: number | undefined
  readonly perUser?: number | undefined
  readonly inAll?: number | undefined
}

export interface AdminConfig {
  readonly port: number
  readonly host?: string | undefined
  readonly token?: string | undefined
}

/** Where the keys come from that seal users' logins: one of them. */
export interface LoginKeyConfig {
  readonly file?: string | undefined
  readonly command?: readonly string[] | undefined
  readonly keychain?: string | undefined
}

export interface UserLoginServerConfig {
  readonly login?: boolean | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly exchange?:
    | {
        readonly issuer: string
        readonly clientId: string
        readonly clientSecretEnv?: string | undefined
        readonly audience?: string | undefined
        readonly scopes?: readonly string[] | undefined
      }
    | undefined
}

/** Servers to which each user logs in with an account of its own. */
export interface UserLoginsConfig {
  readonly servers: Readonly<Record<string, UserLoginServerConfig>>
  readonly key?: LoginKeyConfig | undefined
  readonly minutes?: number | undefined
  readonly verify?:
    | readonly {
        readonly issuer: string
        readonly clientId: string
        readonly clientSecretEnv?: string | undefined
      }[]
    | undefined
}

/** Where audit lines go besides the file of each replica. */
export interface AuditStreamConfig {
  readonly stream: boolean
  readonly arguments?: boolean | undefined
  readonly keep?: number | undefined
}

/** What gateway.json says. */
export interface GatewayConfig {
  readonly publicUrl?: string | undefined
  readonly auth?:
    | { readonly issuers?: readonly IssuerConfig[] | undefined; readonly tokens?: string | undefined }
    | undefined
  readonly roles?: Readonly<Record<string, RoleConfig>> | undefined
  readonly store?: string | undefined
  readonly limits?: CallLimitsConfig | undefined
  readonly accessLog?: string | undefined
  readonly audit?: AuditStreamConfig | undefined
  readonly admin?: AdminConfig | undefined
  readonly isolation?: IsolationConfig | undefined
  readonly tls?: TlsConfig | undefined
  readonly userLogins?: UserLoginsConfig | undefined
}

const text = z.string('expected a string').check(z.minLength(1, 'is empty'))
const list = z.array(text, 'expected a list of strings')
const url = z.url('expected a URL')

const issuer = z.strictObject(
  {
    issuer: url,
    audience: z.optional(text),
    jwksUri: z.optional(url),
    groupsClaim: z.optional(text),
    userClaim: z.optional(text),
    scopes: z.optional(list),
    clockSkewSeconds: z.optional(
      z.int('expected seconds').check(z.gte(0, 'is below 0'), z.lte(300, 'is above 300')),
    ),
  },
  'expected {"issuer": …}',
)

const role = z.strictObject(
  { groups: z.optional(list), expose: z.optional(list), deny: z.optional(list) },
  'expected {"groups"?: […], "expose"?: […], "deny"?: […]}',
)

const count = z
  .int('expected a whole number')
  .check(z.gte(1, 'is below 1'), z.lte(1e9, 'is above 1000000000'))
const limit = z.strictObject(
  {
    concurrent: z.optional(count),
    perMinute: z.optional(count),
    burst: z.optional(count),
    perDay: z.optional(count),
  },
  'expected {"concurrent"?, "perMinute"?, "burst"?, "perDay"?}',
)
const limits = z.strictObject(
  {
    user: z.optional(limit),
    roles: z.optional(z.record(text, limit, 'expected {"ROLE": {…}}')),
    tools: z.optional(z.record(text, limit, 'expected {"PATTERN": {…}}')),
  },
  'expected {"user"?: {…}, "roles"?: {…}, "tools"?: {…}}',
)

const isolation = z.strictObject(
  {
    servers: z.optional(
      z.record(
        text,
        z.enum(['shared', 'user', 'session'], 'expected "shared", "user" or "session"'),
        'expected {"SERVER": "user"}',
      ),
    ),
    idleMinutes: z.optional(count),
    perUser: z.optional(count),
    inAll: z.optional(count),
  },
  'expected {"servers"?: {…}, "idleMinutes"?, "perUser"?, "inAll"?}',
)

const userLogins = z.strictObject(
  {
    servers: z.record(
      text,
      z.strictObject(
        {
          login: z.optional(z.boolean('expected true or false')),
          headers: z.optional(z.record(text, text, 'expected {"NAME": "VALUE"}')),
          exchange: z.optional(
            z.strictObject(
              {
                issuer: url,
                clientId: text,
                clientSecretEnv: z.optional(text),
                audience: z.optional(text),
                scopes: z.optional(list),
              },
              'expected {"issuer": …, "clientId": …}',
            ),
          ),
        },
        'expected {"login"?: …, "headers"?: {…}, "exchange"?: {…}}',
      ),
      'expected {"SERVER": {}}',
    ),
    key: z.optional(
      z.strictObject(
        {
          file: z.optional(text),
          command: z.optional(list.check(z.minLength(1, 'is empty'))),
          keychain: z.optional(text),
        },
        'expected {"file": …}, {"command": […]} or {"keychain": …}',
      ),
    ),
    minutes: z.optional(z.int('expected minutes').check(z.gte(1, 'is below 1'), z.lte(60, 'is above 60'))),
    verify: z.optional(
      z.array(
        z.strictObject(
          { issuer: url, clientId: text, clientSecretEnv: z.optional(text) },
          'expected {"issuer": …, "clientId": …}',
        ),
        'expected a list',
      ),
    ),
  },
  'expected {"servers": {…}}',
)

const admin = z.strictObject(
  {
    port: z.int('expected a port').check(z.gte(1, 'is not a port'), z.lte(65535, 'is not a port')),
    host: z.optional(text),
    token: z.optional(text),
  },
  'expected {"port": …}',
)

const flag = z.boolean('expected true or false')
const auditStream = z.strictObject(
  { stream: flag, arguments: z.optional(flag), keep: z.optional(count) },
  'expected {"stream": true, "arguments"?, "keep"?}',
)

/** A role's name goes into logs, metrics and a file. */
const roleName = z.string().check(z.regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/, 'is not a name for a role'))

export const gatewaySchema = z.strictObject(
  {
    $schema: z.optional(z.string()),
    publicUrl: z.optional(url),
    auth: z.optional(
      z.strictObject(
        { issuers: z.optional(z.array(issuer, 'expected a list')), tokens: z.optional(text) },
        'expected {"issuers"?: […], "tokens"?: …}',
      ),
    ),
    roles: z.optional(z.record(roleName, role, 'expected {"ROLE": {…}}')),
    store: z.optional(text),
    limits: z.optional(limits),
    accessLog: z.optional(text),
    audit: z.optional(auditStream),
    admin: z.optional(admin),
    isolation: z.optional(isolation),
    tls: z.optional(z.strictObject({ cert: text, key: text }, 'expected {"cert": FILE, "key": FILE}')),
    userLogins: z.optional(userLogins),
  },
  'expected an object',
)

export type JsonSchema = { [key: string]: unknown }

export const GATEWAY_SCHEMA_URL = 'https://unpkg.com/plugboard@0/gateway.schema.json'

/** gateway.json as JSON Schema, with a sentence for every key. */
export function gatewayJsonSchema(): JsonSchema {
  const made = z.toJSONSchema(gatewaySchema, { target: 'draft-7', io: 'input' }) as JsonSchema
  describe(made, '')
  const { $schema, ...rest } = made
  return { $schema, $id: GATEWAY_SCHEMA_URL, title: 'Plugboard gateway', ...rest }
}

function describe(schema: JsonSchema, path: string): void {
  for (const [key, child] of Object.entries(propertiesOf(schema))) {
    const at = path === '' ? key : `${path}.${key}`
    const sentence = KEY_DESCRIPTIONS[at]
    if (sentence === undefined) throw new Error(`key-descriptions.ts has no sentence for ${at}`)
    child['description'] = sentence
    describe(child, at)
  }
  if (isObject(schema['additionalProperties'])) describe(schema['additionalProperties'], `${path}.*`)
  if (isObject(schema['items'])) describe(schema['items'], `${path}[]`)
}

/** The keys that may stand at a path of the document. */
export function knownKeys(path: readonly PropertyKey[]): readonly string[] {
  let at: JsonSchema | undefined = z.toJSONSchema(gatewaySchema, { io: 'input' }) as JsonSchema
  for (const step of path) {
    const named: JsonSchema | undefined = propertiesOf(at)[String(step)]
    const more: unknown = typeof step === 'number' ? at?.['items'] : at?.['additionalProperties']
    at = named ?? (isObject(more) ? more : undefined)
  }
  return Object.keys(propertiesOf(at))
}

function propertiesOf(schema: JsonSchema | undefined): Readonly<Record<string, JsonSchema>> {
  const properties = schema?.['properties']
  // A schema that Zod made: the members of "properties" are schemas.
  return isObject(properties) ? (properties as Record<string, JsonSchema>) : {}
}
