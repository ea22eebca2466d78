// help.ts: help text, made from the table of verbs.
import type { Colors } from './colors.ts'
import { table } from './output.ts'
import { GLOBAL_OPTIONS, type OptionSpec, type VerbSpec } from './spec.ts'
import { VERBS } from './verbs.ts'

export function helpText(verb: VerbSpec | undefined, color: Colors): string {
  return `${verb ? verbHelp(verb, color) : overview(color)}\n`
}

function overview({ bold, dim }: Colors): string {
  const groups = ['Servers', 'Look', 'Use', 'More'] as const
  const sections = groups.flatMap((group) => {
    const verbs = VERBS.filter((verb) => verb.group === group)
    if (verbs.length === 0) return []
    return [
      '',
      bold(group),
      table(verbs.map((verb) => [`  ${verb.name} ${dim(verb.usage)}`.trimEnd(), verb.summary])),
    ]
  })
  return [
    `${bold('plugboard')}: every MCP server you know, plugged in.`,
    '',
    `  plugboard                 ${dim('the board: every server, live')}`,
    `  plugboard VERB --help     ${dim('how one verb is used')}`,
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
    ...(Object.keys(own).length > 0 ? ['', bold('Options'), optionTable(own)] : []),
    ...(verb.examples ? ['', bold('For example'), ...verb.examples.map((line) => `  ${line}`)] : []),
    '',
    bold('Everywhere'),
    optionTable(GLOBAL_OPTIONS),
  ].join('\n')
}

function optionTable(options: Readonly<Record<string, OptionSpec>>): string {
  return table(
    Object.entries(options).map(([name, { short, value, help }]) => [
      `  ${short ? `-${short}, ` : '    '}--${name}${value ? ` ${value}` : ''}`,
      help,
    ]),
  )
}
