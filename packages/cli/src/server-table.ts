// server-table.ts: the rows of `list` and of the board: what is configured, and its state.
import type { Configuration, ConfiguredServer, Diagnostic } from '@plugboard/core/config'
import type { Colors } from './colors.ts'
import { fitTable, safe, shortPath, shortPaths, table } from './output.ts'

/** One server as scripts see it. Fields may be added, never renamed. */
export interface ServerRow {
  readonly name: string
  readonly scope: string
  readonly source: string
  readonly type: string
  readonly state: 'pending' | 'connected' | 'failed' | 'needs-auth' | 'disabled'
  readonly stage?: string
  readonly error?: string
  readonly code?: string
  readonly hint?: string
  readonly reason?: string
  readonly tools: number
  readonly resources: number
  readonly prompts: number
  readonly protocolVersion?: string
  readonly connectMs?: number
  readonly serverInfo?: { readonly name: string; readonly version?: string; readonly title?: string }
}

export function configuredRow({ name, scope, source, entry, disabled }: ConfiguredServer): ServerRow {
  return {
    name,
    scope,
    source,
    type: entry.type,
    state: disabled ? 'disabled' : 'pending',
    ...(disabled && { reason: disabled.text }),
    tools: 0,
    resources: 0,
    prompts: 0,
  }
}

const MARK = { connected: '✔', pending: '…', failed: '✘', 'needs-auth': '!', disabled: '⊘' } as const

export interface RowsOptions {
  /** Advise how to add servers where there are none; policy may forbid that. */
  readonly mayAdd?: boolean
  /** No server was to be connected: none of them is on its way. */
  readonly notStarted?: boolean
  /** The width of the screen; without it, lines are as long as they are. */
  readonly columns?: number
  /** On a screen, paths below this folder are written from there. */
  readonly root?: string
  /** Breaks the lines below the table to fit the screen. */
  readonly wrap?: (line: string) => string
}

/** Left out on a narrow screen, in this order: TYPE, TIME, SCOPE. */
const DROP = [3, 5, 2]

export function rowsAsText(rows: readonly ServerRow[], color: Colors, options: RowsOptions = {}): string {
  const { mayAdd = true, notStarted = false, columns, root, wrap = (line) => line } = options
  const { bold, dim, green, red, yellow } = color
  if (rows.length === 0 && !mayAdd)
    return 'No servers: an administrator manages this machine, and the policy defines none.'
  if (rows.length === 0)
    return `No servers yet. Add one: ${bold('plugboard add NAME URL')} or ${bold('plugboard add NAME -- COMMAND …')}`
  const paint = {
    connected: green,
    pending: yellow,
    failed: red,
    'needs-auth': yellow,
    disabled: dim,
  } as const
  const header = ['  NAME', 'STATE', 'SCOPE', 'TYPE', 'TOOLS', 'TIME', 'SOURCE'].map((title) => dim(title))
  const body = rows.map((row) => {
    const waiting = row.reason === 'pending approval'
    const mark = waiting ? '⏸' : MARK[row.state]
    return [
      `${paint[row.state](mark)} ${bold(row.name)}`,
      paint[row.state](waiting ? 'pending approval' : stateWord(row, notStarted)),
      row.scope,
      row.type,
      row.state === 'connected' ? String(row.tools) : '',
      row.connectMs === undefined ? '' : dim(`${Math.round(row.connectMs)} ms`),
      dim(columns === undefined ? shortPath(row.source) : pathFrom(root, row.source)),
    ]
  })
  const details = rows.flatMap((row) => detail(row, color))
  if (mayAdd && rows.every(({ source }) => source === 'built-in'))
    details.push(
      dim(
        'Add a server of yours: `plugboard add NAME URL`, `plugboard add NAME -- COMMAND …`, `plugboard import CLIENT`',
      ),
    )
  const lines = [header, ...body]
  const shown = columns === undefined ? table(lines) : fitTable(lines, { columns, drop: DROP, cut: 'start' })
  return [shown, ...details.map(wrap)].join('\n')
}

/** For a reader, `pending` is either on its way or was never asked to come. */
function stateWord({ state }: ServerRow, notStarted: boolean): string {
  if (state !== 'pending') return state
  return notStarted ? 'not started' : 'connecting'
}

function pathFrom(root: string | undefined, path: string): string {
  return root !== undefined && path.startsWith(`${root}/`)
    ? safe(`.${path.slice(root.length)}`)
    : shortPath(path)
}

/** What does not fit the table: why a server is not up, and what to do. */
function detail(row: ServerRow, { dim, red, yellow }: Colors): string[] {
  if (row.error)
    return [
      `${row.state === 'needs-auth' ? yellow('!') : red('✘')} ${row.name}${row.stage ? ` (${row.stage})` : ''}: ${indented(inBrief(row.error), 2)}`,
      ...(row.hint ? [`  ${dim(shortPaths(row.hint))}`] : []),
    ]
  if (row.reason === 'pending approval') {
    // A private file is often the user's own; only a record can tell.
    const why =
      row.scope === 'local'
        ? 'is defined in this project, with no record that you wrote or approved it'
        : 'came with this project'
    return [`${yellow('⏸')} ${row.name}: ${why}; run \`plugboard approve ${row.name}\` to let it start`]
  }
  if (row.reason) return [`${dim('⊘')} ${dim(shortPaths(`${row.name}: ${row.reason}`))}`]
  return []
}

/** Of a server's last output, the line that names an error, or else the last one; `get`, `doctor` and `logs` have it all. */
export function inBrief(error: string): string {
  const [first = '', ...words] = error.split('\n')
  const telling =
    words.findLast((line) => /(?:Error|Exception)\b|^\s*(?:error|fatal)\b/.test(line)) ?? words.at(-1)
  return telling === undefined ? first : `${first}\n${telling.trim()}`
}

/** A server's last output has many lines; they belong to its row. */
function indented(text: string, by: number): string {
  return shortPaths(text).replaceAll('\n', `\n${' '.repeat(by)}`)
}

/** Whether a server that the user adds could run at all. */
export function mayAdd({ exclusiveFile, documents }: Configuration): boolean {
  const closed = documents.some(
    ({ source, settings }) => source.scope === 'enterprise' && settings.allowManagedMcpServersOnly === true,
  )
  return exclusiveFile === undefined && !closed
}

export function hiddenNote(configuration: Configuration): string | undefined {
  const { exclusiveFile, hidden } = configuration
  if (exclusiveFile === undefined) return undefined
  const names = [...new Set(hidden.map(({ name }) => name))]
  const others =
    names.length === 0
      ? ''
      : ` ${names.length} other${names.length === 1 ? ' is' : 's are'} hidden: ${names.slice(0, 8).map(safe).join(', ')}${names.length > 8 ? ' …' : ''}.`
  return `This machine is managed: ${shortPath(exclusiveFile)} allows its own servers only.${others}`
}

export function listAsData(
  configuration: Configuration,
  rows: readonly ServerRow[],
  more: readonly Diagnostic[] = [],
) {
  const note = hiddenNote(configuration)
  const diagnostics = [...configuration.diagnostics, ...more]
  return {
    servers: rows,
    ...(note && {
      managed: { file: configuration.exclusiveFile, message: note, hidden: configuration.hidden },
    }),
    ...(diagnostics.length > 0 && { diagnostics }),
  }
}

/** What a connected server declared about itself. */
export interface SaidByServer {
  readonly capabilities?: Readonly<Record<string, unknown>>
  readonly instructions?: string
}

export function getAsText(
  row: ServerRow,
  entry: unknown,
  line: number | undefined,
  color: Colors,
  { capabilities, instructions }: SaidByServer = {},
): string {
  const { bold, dim } = color
  const facts = [
    ['  state', row.reason ? shortPaths(`${row.state}: ${row.reason}`) : row.state],
    ...(row.error ? [['  error', `${row.stage ? `(${row.stage}) ` : ''}${indented(row.error, 4)}`]] : []),
    ...(row.hint ? [['  hint', shortPaths(row.hint)]] : []),
    ['  scope', row.scope],
    ['  source', `${shortPath(row.source)}${line ? `:${line}` : ''}`],
    ['  type', row.type],
    ...(row.serverInfo
      ? [['  server', safe(`${row.serverInfo.name} ${row.serverInfo.version ?? ''}`.trimEnd())]]
      : []),
    ...(row.protocolVersion ? [['  protocol', row.protocolVersion]] : []),
    ...(row.state === 'connected'
      ? [['  offers', `${row.tools} tools, ${row.resources} resources, ${row.prompts} prompts`]]
      : []),
    ...(capabilities ? [['  capabilities', safe(capabilityNames(capabilities)) || 'none']] : []),
    ...(instructions ? [['  instructions', safe(indented(instructions, 4))]] : []),
  ]
  return [bold(row.name), table(facts), dim(safe(JSON.stringify(entry, null, 2)).replace(/^/gm, '  '))].join(
    '\n',
  )
}

/** `tools (listChanged), resources, prompts` */
function capabilityNames(capabilities: Readonly<Record<string, unknown>>): string {
  return Object.entries(capabilities)
    .map(([name, value]) => {
      const parts = typeof value === 'object' && value !== null ? Object.entries(value) : []
      const on = parts.filter(([, set]) => set !== false).map(([part]) => part)
      return on.length > 0 ? `${name} (${on.join(', ')})` : name
    })
    .join(', ')
}
