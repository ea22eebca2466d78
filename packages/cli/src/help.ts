// help.ts: help text, made from the table of verbs.
import { type Colors, withoutCodes } from './colors.ts'
import { EXIT_CODES } from './exit-codes.ts'
import { GLOBAL_OPTIONS, isTopic, type OptionSpec, type VerbSpec } from './verb-spec.ts'
import { VERBS } from './verb-table.ts'
import { textColumns, wrapped } from './wrap.ts'

/** About one verb, about a topic, or about everything. */
export function helpText(about: unknown, color: Colors): string {
  if (isTopic(about)) return `${exitCodes(color)}\n`
  return `${isVerb(about) ? verbHelp(about, color) : overview(color)}\n`
}

function isVerb(about: unknown): about is VerbSpec {
  return typeof about === 'object' && about !== null
}

function exitCodes({ bold, dim }: Colors): string {
  return [
    `${bold('Exit codes')}: how every verb ends.`,
    '',
    columnTable(
      EXIT_CODES.map(({ code, meaning, next }) => [
        `  ${String(code).padStart(3)}`,
        next === '' ? meaning : `${meaning} ${dim(`(${next})`)}`,
      ]),
    ),
    '',
    dim('With --json the error is on stdout: {"error":{"code","message","hint",…}}.'),
  ].join('\n')
}

/** Two columns; the second is wrapped under itself. */
function columnTable(rows: readonly (readonly [string, string])[]): string {
  const first = Math.min(MOST_LEFT, Math.max(0, ...rows.map(([left]) => plainWidth(left))))
  const room = Math.max(24, textColumns() - first - 2)
  return rows
    .flatMap(([left, right]) => {
      const lines = wrapped(right, room)
      const width = plainWidth(left)
      const under = ' '.repeat(first + 2)
      // A long left side has a line of its own.
      if (width > first) return [left, ...lines.map((line) => under + line)]
      return lines.map((line, at) => (at === 0 ? left + ' '.repeat(first + 2 - width) + line : under + line))
    })
    .map((line) => line.trimEnd())
    .join('\n')
}

/** How wide the left column may get. */
const MOST_LEFT = 34

function plainWidth(text: string): number {
  return [...withoutCodes(text)].length
}

function overview({ bold, dim }: Colors): string {
  const groups = ['Servers', 'Look', 'Use', 'More'] as const
  const sections = groups.flatMap((group) => {
    const verbs = VERBS.filter((verb) => verb.group === group)
    if (verbs.length === 0) return []
    return [
      '',
      bold(group),
      columnTable(verbs.map((verb) => [`  ${verb.name} ${dim(verb.usage)}`.trimEnd(), verb.summary])),
    ]
  })
  return [
    `${bold('plugboard')}: every MCP server you know, plugged in.`,
    '',
    `  plugboard                 ${dim('the board: every server, live')}`,
    `  plugboard VERB --help     ${dim('how one verb is used')}`,
    `  plugboard help exit-codes ${dim('how the command ends')}`,
    ...sections,
    '',
    bold('Everywhere'),
    optionTable(GLOBAL_OPTIONS),
    '',
    dim('`plugboard mcp add …` and the other spellings of Claude Code work too.'),
  ].join('\n')
}

function verbHelp(verb: VerbSpec, { bold, dim }: Colors): string {
  const own = verb.options ?? {}
  return [
    `${bold(`plugboard ${verb.name}`)} ${verb.usage}`.trimEnd(),
    `  ${verb.summary}${verb.aliases ? dim(` (also: ${verb.aliases.join(', ')})`) : ''}`,
    ...(verb.forms
      ? ['', bold('Forms'), columnTable(verb.forms.map(([form, meaning]) => [`  ${form}`, meaning]))]
      : []),
    ...(Object.keys(own).length > 0 ? ['', bold('Options'), optionTable(own)] : []),
    ...(verb.examples ? ['', bold('For example'), ...verb.examples.map((line) => `  ${line}`)] : []),
    '',
    bold('Everywhere'),
    optionTable(GLOBAL_OPTIONS),
  ].join('\n')
}

function optionTable(options: Readonly<Record<string, OptionSpec>>): string {
  return columnTable(
    Object.entries(options).map(([name, { short, value, help }]) => [
      `  ${short ? `-${short}, ` : '    '}--${name}${value ? ` ${value}` : ''}`,
      help,
    ]),
  )
}
