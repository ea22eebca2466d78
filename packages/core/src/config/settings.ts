// settings.ts: the keys of a settings file besides its servers, and which scopes may use which. A broken key affects
// only itself.
import * as z from 'zod/mini'
import { nearest } from '../text/nearest.ts'
import { printable } from '../text/strip-controls.ts'
import { type GatewaySettings, gateway, profiles, type ToolSettings, tools } from './gateway-settings.ts'
import { type JsonNode, member, nodeAt, type ParsedDocument, toValue } from './parse.ts'
import { LOCKED } from './policy.ts'
import { policyMatcher, restrictingPart, rightPart } from './restricting-settings.ts'
import { isOurs, RULE_ACTIONS, ruleError } from './rule-errors.ts'
import { writtenEntrySchema } from './schema.ts'
import type { Source } from './sources.ts'
import type { Diagnostic, Scope } from './types.ts'

export interface PolicyMatcher {
  readonly serverName?: string
  readonly serverCommand?: readonly string[]
  /** With `serverCommand` on an allow list: names of `env` that an entry may set besides the harmless ones. */
  readonly env?: readonly string[] | '*' | undefined
  /** With `serverCommand` on an allow list: the entry may name a `cwd`. */
  readonly cwd?: boolean | undefined
  readonly serverUrl?: string
  /** With `serverUrl` on an allow list: the entry may have a `headersHelper`. */
  readonly headersHelper?: boolean | undefined
}

export interface ServerListSettings {
  readonly url: string
  /** The NAME of the environment variable that holds the bearer token. */
  readonly bearerEnv?: string
}

export interface PluginSettings {
  readonly path: string
  readonly userConfig?: Readonly<Record<string, unknown>>
}

/** Single sign-on, machine logins and the client's own identity. Secrets are named here, never written. */
export interface LoginSettings {
  readonly xaa?: {
    readonly issuer: string
    readonly clientId: string
    readonly callbackPort?: number | undefined
    readonly scopes?: readonly string[] | undefined
  }
  /** Servers that use a machine login, by name. */
  readonly machines?: Readonly<Record<string, MachineLogin>>
  readonly clientMetadataUrl?: string
}

export interface MachineLogin {
  readonly clientId: string
  /** The server the credentials are for; its address has to begin with this. */
  readonly url?: string | undefined
  readonly scopes?: readonly string[] | undefined
  readonly issuer?: string | undefined
  /** The file with the private key (PEM or JWK) that proves the client. */
  readonly privateKeyFile?: string | undefined
  /** The NAME of the environment variable with that key. */
  readonly privateKeyEnv?: string | undefined
  readonly alg?: string | undefined
  readonly kid?: string | undefined
  /** The NAME of the environment variable with the client secret. */
  readonly clientSecretEnv?: string | undefined
}

/** How much of the audit log is kept. */
export interface AuditSettings {
  /** The size at which a file is rotated. */
  readonly maxBytes?: number | undefined
  /** How many files are kept, the current one included. */
  readonly files?: number | undefined
}

/** Whether commands use the resident process, and after how many idle milliseconds it leaves. */
export type ResidentSettings = boolean | { readonly idleMs?: number | undefined }

/** What the user knows about a model that the provider does not tell. */
export interface ModelSettings {
  /** Dollars for a million tokens. */
  readonly inputPrice?: number | undefined
  readonly outputPrice?: number | undefined
  /** How much fits into one request. */
  readonly contextTokens?: number | undefined
}

export interface Settings {
  readonly allowedMcpServers?: readonly PolicyMatcher[]
  readonly deniedMcpServers?: readonly PolicyMatcher[]
  readonly allowManagedMcpServersOnly?: boolean
  readonly managedServers?: ServerListSettings
  readonly claudeaiServers?: ServerListSettings
  readonly plugins?: readonly (string | PluginSettings)[]
  /** Of Claude Code: `plugin@marketplace` → on or off. */
  readonly enabledPlugins?: Readonly<Record<string, unknown>>
  readonly disabledServers?: readonly string[]
  readonly disabledMcpjsonServers?: readonly string[]
  readonly permissions?: {
    readonly allow?: readonly string[]
    readonly ask?: readonly string[]
    readonly deny?: readonly string[]
  }
  readonly logins?: LoginSettings
  readonly gateway?: GatewaySettings
  /** How `plugboard serve` shows single tools, by `server.tool`. */
  readonly tools?: Readonly<Record<string, ToolSettings>>
  /** Sets of tools to serve, by name. */
  readonly profiles?: Readonly<Record<string, readonly string[]>>
  readonly audit?: AuditSettings
  readonly resident?: ResidentSettings
  /** Which built-in servers are on, by name. */
  readonly builtins?: Readonly<Record<string, boolean>>
  /** By the model's name. */
  readonly models?: Readonly<Record<string, ModelSettings>>
  /** Commands around calls and prompts, by event. The hook runner reads the content. */
  readonly hooks?: Readonly<Record<string, unknown>>
}

const strings = z.array(z.string('expected a string'), 'expected a list of strings')
const serverList = z.object(
  {
    url: z.string('expected a URL'),
    bearerEnv: z.optional(z.string('expected the name of an environment variable')),
  },
  'expected {"url": …, "bearerEnv"?: …}',
)
const logins = z.strictObject(
  {
    xaa: z.optional(
      z.strictObject({
        issuer: z.string('expected a URL'),
        clientId: z.string('expected a string'),
        callbackPort: z.optional(z.int('expected a port number').check(z.gte(1), z.lte(65535))),
        scopes: z.optional(strings),
      }),
    ),
    machines: z.optional(
      z.record(
        z.string(),
        z.strictObject({
          clientId: z.string('expected a string'),
          scopes: z.optional(strings),
          url: z.optional(z.url('expected a URL')),
          issuer: z.optional(z.string()),
          privateKeyFile: z.optional(z.string()),
          privateKeyEnv: z.optional(z.string()),
          alg: z.optional(z.string()),
          kid: z.optional(z.string()),
          clientSecretEnv: z.optional(z.string()),
        }),
      ),
    ),
    clientMetadataUrl: z.optional(z.string('expected a URL')),
  },
  'expected {"xaa"?: …, "machines"?: …, "clientMetadataUrl"?: …}',
)
const milliseconds = z.optional(z.int('expected milliseconds').check(z.gte(0), z.lte(2 ** 31 - 1)))
const audit = z.strictObject(
  {
    maxBytes: z.optional(z.int('expected bytes').check(z.gte(64 * 1024), z.lte(1024 ** 3))),
    files: z.optional(z.int('expected a whole number').check(z.gte(2), z.lte(10_000))),
  },
  'expected {"maxBytes"?: …, "files"?: …}',
)
const resident = z.union(
  [z.boolean(), z.strictObject({ idleMs: milliseconds })],
  'expected true, false or {"idleMs": …}',
)
const dollars = z.optional(z.number('expected dollars for a million tokens').check(z.gte(0)))
const models = z.record(
  z.string(),
  z.strictObject({
    inputPrice: dollars,
    outputPrice: dollars,
    contextTokens: z.optional(z.int('expected a number of tokens').check(z.gte(1000))),
  }),
  'expected {"MODEL": {"inputPrice"?: …, "outputPrice"?: …, "contextTokens"?: …}}',
)
const keys = {
  models,
  logins,
  gateway,
  tools,
  profiles,
  audit,
  resident,
  builtins: z.record(z.string(), z.boolean('expected true or false'), 'expected {"NAME": true}'),
  allowedMcpServers: z.array(policyMatcher, 'expected a list'),
  deniedMcpServers: z.array(policyMatcher, 'expected a list'),
  allowManagedMcpServersOnly: z.boolean('expected true or false'),
  managedServers: serverList,
  claudeaiServers: serverList,
  plugins: z.array(
    z.union(
      [z.string(), z.object({ path: z.string(), userConfig: z.optional(z.record(z.string(), z.unknown())) })],
      'expected a path or {"path": …, "userConfig"?: …}',
    ),
    'expected a list',
  ),
  enabledPlugins: z.record(z.string(), z.unknown(), 'expected {"PLUGIN@MARKETPLACE": true}'),
  disabledServers: strings,
  disabledMcpjsonServers: strings,
  permissions: z.object(
    { allow: z.optional(strings), ask: z.optional(strings), deny: z.optional(strings) },
    'expected {"allow"?: […], "ask"?: […], "deny"?: […]}',
  ),
  hooks: z.record(z.string(), z.unknown(), 'expected {"PreToolUse"?: […], …}'),
}
export type SettingsKey = keyof typeof keys

/** Where a key counts. A repository may not set what restricts the user or sends a secret somewhere. */
export const HONOURED: Readonly<Record<SettingsKey, readonly Scope[]>> = {
  models: ['enterprise', 'user'],
  logins: ['enterprise', 'user'],
  gateway: ['enterprise', 'user'],
  // What a tool says of itself leads a model: a repository may not reword it.
  tools: ['enterprise', 'user'],
  profiles: ['enterprise', 'user'],
  audit: ['enterprise', 'user'],
  resident: ['enterprise', 'user'],
  builtins: ['enterprise', 'user'],
  allowedMcpServers: ['enterprise', 'user'],
  deniedMcpServers: ['enterprise', 'user'],
  allowManagedMcpServersOnly: ['enterprise'],
  managedServers: ['enterprise', 'user'],
  claudeaiServers: ['enterprise', 'user'],
  plugins: ['enterprise', 'user', 'local', 'project'],
  enabledPlugins: ['enterprise', 'user', 'local', 'project'],
  disabledServers: ['enterprise', 'user', 'local', 'project'],
  disabledMcpjsonServers: ['enterprise', 'user', 'local', 'project'],
  permissions: ['enterprise', 'user', 'local', 'project'],
  hooks: ['enterprise', 'user', 'local'],
}
/** Keys that only restrict still count in a file with a syntax error: a failure must not open access. */
const RESTRICTING: readonly SettingsKey[] = [
  'allowedMcpServers',
  'deniedMcpServers',
  'allowManagedMcpServersOnly',
  'disabledServers',
  'disabledMcpjsonServers',
  'permissions',
  'builtins',
]
/** Keys of other products that mean "trusted" for a name alone; a name does not prove what runs. */
const NAME_ONLY_TRUST = ['enabledMcpjsonServers', 'enableAllProjectMcpServers']
const OTHERS = ['$schema', 'mcpServers', ...NAME_ONLY_TRUST]

export const settingsSchema = z.object({
  $schema: z.optional(z.string()),
  mcpServers: z.optional(z.record(z.string(), writtenEntrySchema)),
  ...(Object.fromEntries(Object.entries(keys).map(([key, schema]) => [key, z.optional(schema)])) as {
    [K in SettingsKey]: z.ZodMiniOptional<(typeof keys)[K]>
  }),
})

type Warn = (
  severity: Diagnostic['severity'],
  offset: number,
  path: string,
  message: string,
  hint: string,
) => void

export function readSettings(
  document: ParsedDocument,
  root: JsonNode | undefined,
  source: Source,
): { readonly settings: Settings; readonly diagnostics: readonly Diagnostic[] } {
  const diagnostics: Diagnostic[] = []
  const warn: Warn = (severity, offset, path, message, hint) =>
    diagnostics.push({
      severity,
      file: source.file,
      ...document.position(offset),
      path: printable(path),
      message: printable(message),
      hint: printable(hint),
      ...(path.startsWith('permissions') && { topic: 'rules' as const }),
    })
  const settings = knownSettings(document, root, source, warn)
  if (source.product === 'plugboard') unknownSettings(root, warn)
  if (HONOURED.permissions.includes(source.scope))
    for (const { action, at, text, offset } of writtenRules(member(root, 'permissions')?.value)) {
      const fault = isOurs(text, source) ? ruleError(action, text) : undefined
      if (fault) warn('error', offset, `permissions.${action}[${at}]`, fault.message, fault.hint)
    }
  // A policy that was only partly read might have denied anything.
  const unclear =
    document.broken || (settings['deniedMcpServers'] === undefined && member(root, 'deniedMcpServers'))
  const locked = source.scope === 'enterprise' && unclear ? LOCKED : {}
  return { settings: { ...(settings as Settings), ...locked }, diagnostics }
}

/** Each key that counts in this file; what is wrong with one costs only that part. */
function knownSettings(
  document: ParsedDocument,
  root: JsonNode | undefined,
  source: Source,
  warn: Warn,
): Record<string, unknown> {
  const settings: Record<string, unknown> = {}
  for (const key of Object.keys(keys) as SettingsKey[]) {
    const found = member(root, key)
    if (!found?.value || (key === 'hooks' && isForOthers(source))) continue
    if (!HONOURED[key].includes(source.scope)) {
      warn(
        'warning',
        found.offset,
        key,
        `"${key}" has no effect in a ${source.scope} file`,
        `It counts in ${HONOURED[key].join(' and ')} settings only.`,
      )
      continue
    }
    if (document.broken && !RESTRICTING.includes(key)) continue
    const given = toValue(found.value)
    const checked = keys[key].safeParse(given)
    const value = checked.success ? checked.data : rightPart(key, given)
    if (value !== undefined) settings[key] = document.broken ? restrictingPart(key, value) : value
    for (const issue of checked.error?.issues.slice(0, 5) ?? []) {
      const steps = issue.path.filter((step) => typeof step !== 'symbol')
      warn(
        'error',
        nodeAt(found.value, steps)?.offset ?? found.offset,
        [key, ...steps].join('.'),
        `"${key}" is not valid: ${issue.message}`,
        value === undefined
          ? 'The whole key was ignored.'
          : 'Correct it; the valid parts of the key still apply.',
      )
    }
  }
  return settings
}

function unknownSettings(root: JsonNode | undefined, warn: Warn): void {
  if (root?.kind === 'object')
    for (const { key, offset } of root.members)
      if (!Object.hasOwn(keys, key) && !OTHERS.includes(key) && key !== '__proto__')
        warn(
          'warning',
          offset,
          key,
          `unknown key "${key}"`,
          unknownKeyHint(key, [...Object.keys(keys), ...OTHERS]),
        )
  // A typo in `deny` would leave open what its author believes is closed.
  const lists = member(root, 'permissions')?.value
  if (lists?.kind === 'object')
    for (const { key, offset } of lists.members)
      if (!RULE_LISTS.includes(key)) {
        const isTypo = nearest(key, RULE_LISTS) !== undefined
        const hint = unknownKeyHint(key, RULE_LISTS)
        warn(isTypo ? 'error' : 'warning', offset, `permissions.${key}`, `unknown key "${key}"`, hint)
      }
}

const RULE_LISTS: readonly string[] = RULE_ACTIONS

/** Every string in the place of a rule, with its position; a single one counts as a list of one. */
function writtenRules(lists: JsonNode | undefined) {
  return RULE_ACTIONS.flatMap((action) => {
    const list = member(lists, action)?.value
    const given = list && toValue(list)
    const texts: readonly unknown[] = Array.isArray(given) ? given : [given]
    return texts.flatMap((text, at) =>
      list && typeof text === 'string'
        ? [{ action, at, text, offset: (nodeAt(list, [at]) ?? list).offset }]
        : [],
    )
  })
}

function unknownKeyHint(key: string, known: readonly string[]): string {
  const close = nearest(key, known)
  return close === undefined
    ? 'It is ignored; `plugboard config schema` lists the keys.'
    : `It is ignored. Did you mean "${close}"?`
}

/** Another product's hooks expect its tools and its names; only an administrator's apply to all products. */
function isForOthers(source: Source): boolean {
  return source.product === 'claude' && source.scope !== 'enterprise'
}
