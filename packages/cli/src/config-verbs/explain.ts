// explain: the configuration pipeline with its steps kept, for one name.
import {
  abbreviated,
  type Configuration,
  type ConfiguredServer,
  type Contender,
  type Expansion,
  findResolution,
  maskEntry,
  type PermissionRule,
  type Resolution,
  stateFolder,
} from '@plugboard/core/config'
import { sharingOf } from '@plugboard/core/config/sharing'
import { fallsBackToSse, isInProcess, TRANSPORTS } from '@plugboard/core/config/transport-traits'
import type { Host } from '@plugboard/core/host'
import { isOfUser, reaches, rulesAbout } from '@plugboard/core/permissions'
import type { Colors } from '../colors.ts'
import { type Invocation, words } from '../context.ts'
import { EXIT, safe, shortPath, shortPaths, table } from '../output.ts'
import { unmatchedRulesOfCatalog } from '../shared/unmatched-rules.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name = ''] = words(invocation, ['NAME'])
  const configuration = await invocation.configuration({ withLines: true })
  const resolution = findResolution(configuration, name)
  const unmatched = await unmatchedRulesOfCatalog(name, configuration, invocation.host)
  const hints = new Map(unmatched.map(({ rule, diagnostic }) => [rule, diagnostic.hint ?? '']))
  const rules = rulesAbout(name, configuration.rules).map((rule): ShownRule => {
    const hint = hints.get(rule)
    return { ...rule, ...(hint !== undefined && { matchesNoTool: hint }) }
  })
  const told = await toldOf(resolution, invocation, configuration)
  const explained = { ...resolution, notes: [...resolution.notes, ...told.notes] }
  const values = invocation.flag('show-values')
  invocation.output.result({ ...asData(explained, rules, values), ...told.data }, () =>
    asText(explained, rules, values, invocation.output.color),
  )
  return EXIT.done
}

/** A rule with what to do about it, where it matches none of the tools that the server listed last. */
interface ShownRule extends PermissionRule {
  readonly matchesNoTool?: string
}

/** What only shows when the server runs: the transport that a bare `url` became, and the roots it is given. */
async function toldOf({ server }: Resolution, { host }: Invocation, { place }: Configuration) {
  if (!server) return { notes: [], data: {} }
  const metAs = await metTransport(server, host)
  const { entryFolders } = await import('@plugboard/core/interaction/roots')
  const { roots } = server.entry
  const own = entryFolders(server.entry, { home: host.home, cwd: place.root })
  const folders = roots === undefined ? [...new Set([place.root, ...own])] : own
  const named = roots === undefined ? own.filter((folder) => folder !== place.root) : folders
  const { share, why } = sharingOf(server, place.root)
  const notes = [
    `In the resident board one instance is shared ${SHARED_BY[share]}: ${why}.`,
    ...(metAs ? [`Its last connection used ${TRANSPORTS[metAs].label}.`] : []),
    ...(roots === false ? ['The server gets no folders ("roots": false).'] : []),
    ...(named.length > 0
      ? [
          `The server gets these folders (roots): ${folders.map((folder) => safe(shortPath(folder))).join(', ')}.`,
        ]
      : []),
  ]
  return { notes, data: { ...(metAs && { metAs }), roots: folders, share: { share, why } } }
}

const SHARED_BY = {
  user: 'by all your projects',
  project: 'within the project',
  session: 'by no other command',
} as const

/** For an entry with a `url` and no `type`: the transport that was detected. */
async function metTransport(server: ConfiguredServer, host: Host): Promise<'http' | 'sse' | undefined> {
  if (!fallsBackToSse(server.entry)) return undefined
  const { EraMemory } = await import('@plugboard/core/connection/era-memory')
  const memory = new EraMemory(stateFolder(host), host, () => undefined)
  const known = await memory.recall(server.entry, server.signature)
  return known && (known.became ?? 'http')
}

function asData(resolution: Resolution, rules: readonly ShownRule[], values: boolean) {
  const { server } = resolution
  return {
    name: resolution.name,
    definitions: resolution.contenders.map(({ definition, verdict }) => ({
      source: definition.source.file,
      scope: definition.source.scope,
      ...(definition.line !== undefined && { line: definition.line }),
      winner: verdict.kind === 'winner',
      verdict: verdict.kind,
      why: whyOf({ definition, verdict }),
      entry: shownEntry(definition, resolution),
      faults: definition.faults,
    })),
    ...(server && {
      type: server.entry.type,
      signature: server.signature,
      state: server.disabled ? 'disabled' : 'enabled',
      ...(server.author && { author: server.author }),
      ...(server.replaces !== undefined && { replaces: server.replaces }),
      ...(server.disabled && { reason: server.disabled.text }),
      ...(server.disabled?.kind === 'suppressed' && { suppressedBy: server.disabled.by }),
    }),
    expansions: resolution.expansions.map((expansion) => ({
      ...expansion,
      ...(expansion.value !== undefined && { value: shownValue(expansion, resolution, values) }),
    })),
    ...(resolution.policy && { policy: resolution.policy }),
    ...(resolution.trust && { trust: { ...resolution.trust, hash: resolution.hash } }),
    rules: rules.map((rule) => ({ ...rule, counts: counts(rule, server) })),
    ...(server?.entry.permissions && {
      permissions: { ...server.entry.permissions, effects: ownEffects(server) },
    }),
    notes: resolution.notes,
  }
}

function asText(resolution: Resolution, rules: readonly ShownRule[], values: boolean, color: Colors): string {
  const { bold, red } = color
  const { server } = resolution
  const lines = [bold(resolution.name)]
  const section = (title: string, body: readonly string[]) => {
    if (body.length > 0) lines.push('', bold(title), ...body)
  }
  section('Defined in', definitionLines(resolution, color))
  section('Faults', faultLines(resolution, color))
  const winner = resolution.contenders.find(({ verdict }) => verdict.kind === 'winner')?.definition
  if (!winner || !server) {
    const decisive = resolution.contenders.find(({ verdict }) => ABSENT.includes(verdict.kind))
    section('Verdict', [
      `  ${red(decisive ? whyOf(decisive) : 'no definition of it is valid, so it does not exist')}`,
    ])
    return lines.join('\n')
  }
  section(
    'Entry',
    safe(JSON.stringify(shownEntry(winner, resolution), null, 2))
      .replace(/^/gm, '  ')
      .split('\n'),
  )
  section(
    'Variables',
    resolution.expansions.map(
      (expansion) =>
        `  \${${expansion.variable}} in ${expansion.path}: ${describe(expansion, shownValue(expansion, resolution, values), color)}`,
    ),
  )
  section(
    'Notes',
    resolution.notes.map((note) => `  ${shortPaths(note)}`),
  )
  section('Permissions', permissionLines(resolution, rules, color))
  section('Verdict', verdictLines(resolution, server, color))
  return lines.join('\n')
}

const ABSENT: readonly Contender['verdict']['kind'][] = ['hidden', 'off']

function definitionLines({ contenders }: Resolution, { green, red, dim }: Colors): readonly string[] {
  const rows = contenders.map((contender) => {
    const { definition, verdict } = contender
    const won = verdict.kind === 'winner'
    const at = `${shortPath(definition.source.file)}${definition.line ? `:${definition.line}` : ''}`
    const mark = won ? green('✔') : verdict.kind === 'invalid' ? red('✘') : dim('·')
    const fate = won ? green(whyOf(contender)) : dim(whyOf(contender))
    return [`  ${mark} ${definition.source.scope}`, at, fate]
  })
  return table(rows).split('\n')
}

function faultLines({ contenders }: Resolution, { red, yellow }: Colors): readonly string[] {
  return contenders.flatMap(({ definition }) =>
    definition.faults.map(
      (fault) =>
        `  ${fault.severity === 'error' ? red('error') : yellow('warning')} ${fault.path}: ${fault.message}`,
    ),
  )
}

/** Whether it may start: the policy, the user's trust, and what switched it off. */
function verdictLines(
  { name, policy, trust }: Resolution,
  server: ConfiguredServer,
  { green, red, yellow }: Colors,
): readonly string[] {
  return [
    ...(policy
      ? [
          policy.admitted
            ? `  policy  ${green('admitted')}: ${policy.by}`
            : `  policy  ${red('blocked')}: ${policy.reason}, by ${shortPath(policy.file)}`,
        ]
      : []),
    ...(trust
      ? [
          `  trust   ${trust.trusted ? green('trusted') : yellow('pending approval')}: ${trust.because}${trust.trusted ? '' : `; run \`plugboard approve ${name}\``}`,
        ]
      : []),
    ...(server.replaces !== undefined
      ? [`  ${yellow('replaces')} your own server of that name, ${shortPath(server.replaces)}`]
      : []),
    `  state   ${server.disabled ? yellow(`disabled: ${shortPaths(server.disabled.text)}`) : green('enabled')}`,
  ]
}

/** Which tools may be called, and who decides where no rule matches. */
function permissionLines(
  { server }: Resolution,
  rules: readonly ShownRule[],
  { dim, green, red, yellow }: Colors,
): string[] {
  const paint = { deny: red, ask: yellow, allow: green } as const
  const lines = rules.map((one) => [
    `  ${counts(one, server) ? paint[one.action](one.action) : dim(one.action)}`,
    safe(one.rule),
    dim(`${shortPath(one.file)}${counts(one, server) ? '' : '; has no effect on this server'}`) +
      (one.matchesNoTool === undefined ? '' : yellow(`; matches no tool. ${safe(one.matchesNoTool)}`)),
  ])
  const own = server?.entry.permissions
  return [
    ...(lines.length > 0 ? table(lines).split('\n') : []),
    ...(own ? [`  its own  ${safe(JSON.stringify(own))}`] : []),
    ...(server ? ownEffects(server).map((line) => dim(`  ${line}`)) : []),
    dim(
      server && isInProcess(server.entry)
        ? '  no rule matches: its own list of harmless tools is allowed, every other tool asks'
        : `  ${lines.length > 0 || own ? 'a tool that no rule matches' : 'no rule matches: every tool'} asks when a model calls it`,
    ),
  ]
}

/** An allow rule holds for the server it was written for, not for another one of that name. */
function counts(rule: PermissionRule, server: ConfiguredServer | undefined): boolean {
  return rule.action !== 'allow' || server === undefined || reaches(rule, server)
}

/** What the entry's own `permissions` amount to. */
function ownEffects(server: ConfiguredServer): string[] {
  const own = server.entry.permissions ?? {}
  const modes = [
    ['readPermission', own.readPermission, 'tools that say they only read'],
    ['writePermission', own.writePermission, 'tools that may change something'],
  ] as const
  return modes.flatMap(([key, mode, what]) => {
    if (mode === undefined) return []
    if (mode === 'deny')
      return [
        `${key}: ${what} are denied${key === 'readPermission' ? ', and so are resources and prompts' : ''}`,
      ]
    if (mode === 'ask') return [`${key}: ${what} ask first`]
    return [
      isOfUser(server)
        ? `${key}: ${what} run without asking`
        : `${key}: "allow" has no effect, because you did not write this entry`,
    ]
  })
}

function whyOf({ verdict, definition }: Contender): string {
  switch (verdict.kind) {
    case 'winner':
      return 'wins'
    case 'shadowed':
      return `shadowed by ${shortPath(verdict.by)}`
    case 'invalid':
      return definition.faults.find(({ severity }) => severity === 'error')?.message ?? 'not valid'
    case 'off':
      return shortPaths(verdict.why)
    case 'hidden':
      return `hidden: ${shortPath(verdict.by)} allows its own servers only`
  }
}

function describe(expansion: Expansion, value: string, { dim, yellow }: Colors): string {
  if (expansion.from === 'missing') return yellow('not set, left as it is')
  return `${value} ${dim(`(from the ${expansion.from})`)}`
}

/** An entry that waits for approval is the repository's own text, and shown whole; elsewhere secrets are masked. */
function shownEntry(definition: Contender['definition'], { trust, contenders }: Resolution): unknown {
  const winner = contenders.find(({ verdict }) => verdict.kind === 'winner')?.definition
  return definition === winner && trust?.trusted === false
    ? definition.written
    : maskEntry(definition.written)
}

/** Folders that the configuration itself names. */
const OURS = ['PLUGBOARD_PROJECT_DIR', 'CLAUDE_PROJECT_DIR']

/** The entry chooses which variables are shown here, so only the first characters and the length are. */
function shownValue(expansion: Expansion, { expansions }: Resolution, whole: boolean): string {
  const { variable, path, from, value = '' } = expansion
  if (whole || OURS.includes(variable)) return safe(value)
  // A default is text of the entry, unless it contains a variable.
  const inside = expansions.some(
    (other) => other.from === 'environment' && other.path === path && value.includes(other.value ?? ''),
  )
  return safe(from === 'default' && !inside ? value : abbreviated(value))
}
