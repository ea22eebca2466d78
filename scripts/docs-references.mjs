// docs-references.mjs: the JSON Schemas and the two reference pages, as texts by their path. Pure but for reading the
// built core and the table of verbs.
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './ensure-install.mjs'
import { markdownTable } from './lib/table.mjs'

const NOTE = '<!-- Written by `npm run docs`; changes here are lost. -->'

export async function references() {
  const module = pathToFileURL(join(root, 'packages/core/dist/config/json-schema.js')).href
  const { settingsJsonSchema, mcpJsonSchema } = await import(module)
  const settings = settingsJsonSchema()
  const { gatewayJsonSchema } = await import(
    pathToFileURL(join(root, 'packages/gateway/dist/config/schema.js')).href
  )
  const gateway = gatewayJsonSchema()
  return {
    'packages/cli/gateway.schema.json': `${JSON.stringify(gateway, null, 2)}\n`,
    'docs/gateway-file.md': gatewayPage(gateway),
    'packages/cli/settings.schema.json': `${JSON.stringify(settings, null, 2)}\n`,
    'packages/cli/mcp.schema.json': `${JSON.stringify(mcpJsonSchema(), null, 2)}\n`,
    'docs/settings.md': settingsPage(settings),
    'docs/cli.md': commandPage(await verbTable()),
  }
}

/** The table itself: the verbs' own code is not loaded. */
async function verbTable() {
  const { build } = await import('esbuild')
  const names = ['verb-table', 'verb-spec', 'exit-codes'].map(
    (name) => `export * from './packages/cli/src/${name}.ts'`,
  )
  const { outputFiles } = await build({
    stdin: { contents: names.join('\n'), resolveDir: root },
    bundle: true,
    write: false,
    format: 'esm',
    external: ['./config-verbs/*'],
  })
  return await import(
    `data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`
  )
}

function settingsPage(schema) {
  const { mcpServers, ...keys } = schema.properties
  const kinds = mcpServers.additionalProperties.anyOf
  const shared = Object.keys(kinds[0].properties).filter(
    (key) => key !== 'type' && kinds.every((kind) => kind.properties[key]),
  )
  const pick = (properties, wanted) =>
    Object.fromEntries(Object.entries(properties).filter(([key]) => wanted(key)))
  return [
    '# Settings reference',
    '',
    NOTE,
    '',
    'Every key of `.plugboard/settings.json`, `.plugboard/settings.local.json` and `~/.plugboard/settings.json`. Servers are',
    'written the same way in `.mcp.json`. `plugboard config schema` prints this as JSON Schema, and an editor finds it by',
    `\`"$schema": "${schema.$id}"\` (for \`.mcp.json\`: \`mcp.schema.json\` beside it).`,
    'How files, scopes and trust go together is in [configuration.md](configuration.md).',
    '',
    '## At the top',
    '',
    keyTable({ mcpServers: { type: 'object', description: mcpServers.description }, ...keys }),
    '',
    '## Every server',
    '',
    keyTable(pick(kinds[0].properties, (key) => shared.includes(key))),
    ...kinds.flatMap((kind) => [
      '',
      `## ${kind.title[0].toUpperCase()}${kind.title.slice(1)}`,
      '',
      keyTable(
        pick(kind.properties, (key) => !shared.includes(key)),
        kind.required,
      ),
    ]),
    '',
  ].join('\n')
}

function gatewayPage(schema) {
  const { $schema, ...keys } = schema.properties
  return [
    '# gateway.json reference',
    '',
    NOTE,
    '',
    'Every key of the file that `plugboard serve --http --gateway FILE` takes. What they are for is in [gateway.md](gateway.md).',
    '`plugboard gateway check FILE` explains a file, `plugboard gateway schema` prints this page as JSON Schema, and an editor finds',
    `it by \`"$schema": "${schema.$id}"\`. Comments are allowed. Paths are relative to the file.`,
    '',
    keyTable(keys),
    '',
  ].join('\n')
}

function keyTable(properties, required = []) {
  const rows = Object.entries(properties).flatMap(([key, schema]) =>
    keyRows(key, schema, required.includes(key)),
  )
  return markdownTable([['key', 'value', 'what it says'], ...rows])
}

/** A key, and below it what is inside it, with its path. */
function keyRows(path, schema, required) {
  const own = [`\`${path}\``, typeOf(schema), `${schema.description}${required ? ' Required.' : ''}`]
  const items = schema.items?.properties
  const inside = schema.properties ?? schema.additionalProperties?.properties ?? items ?? {}
  const prefix = schema.properties ? path : items ? `${path}[]` : `${path}.*`
  const arms = (schema.items?.anyOf ?? []).flatMap((arm) =>
    Object.entries(arm.properties ?? {}).map(([key, child]) => [
      `\`${path}[].${key}\``,
      typeOf(child),
      child.description,
    ]),
  )
  const below = Object.entries(inside).flatMap(([key, child]) =>
    keyRows(
      `${prefix}.${key}`,
      child,
      (schema.required ?? schema.additionalProperties?.required ?? schema.items?.required)?.includes(key),
    ),
  )
  return [own, ...arms, ...below]
}

function typeOf(schema) {
  if (schema.enum) return schema.enum.map((value) => `\`${value}\``).join(', ')
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ')
  if (schema.type === 'array') return schema.items?.type === 'string' ? 'list of strings' : 'list'
  if (Array.isArray(schema.type)) return 'string'
  if (schema.type === 'object') return 'object'
  if (schema.type === 'integer') return 'whole number'
  return schema.type === 'boolean' ? '`true`, `false`' : (schema.type ?? 'anything')
}

function commandPage({ VERBS, GLOBAL_OPTIONS, EXIT_CODES }) {
  const groups = ['Servers', 'Look', 'Use', 'More']
  return [
    '# Command reference',
    '',
    NOTE,
    '',
    '`plugboard` alone shows the board; `plugboard VERB --help` prints a part of this page. `plugboard mcp add …` and the other',
    'spellings of Claude Code work too. Results go to stdout and everything else to stderr.',
    '',
    '## Everywhere',
    '',
    optionTable(GLOBAL_OPTIONS),
    '',
    '## Exit codes',
    '',
    '`plugboard help exit-codes` prints this table. With `--json` the error is also on stdout:',
    '`{"error":{"code","server"?,"stage"?,"message","hint"?}}`; [troubleshooting.md](troubleshooting.md) has the codes.',
    '',
    markdownTable([
      ['exit code', 'meaning', 'next step'],
      ...EXIT_CODES.map(({ code, meaning, next }) => [String(code), meaning, next]),
    ]),
    ...groups.flatMap((group) => [
      '',
      `## ${group}`,
      ...VERBS.filter((verb) => verb.group === group).flatMap(verbSection),
    ]),
    '',
  ].join('\n')
}

function verbSection({ name, usage, summary, aliases, forms, options, examples }) {
  const also = aliases ? ` (also: \`${aliases.join('`, `')}\`)` : ''
  return [
    '',
    `### plugboard ${name}`,
    '',
    `\`plugboard ${name}${usage ? ` ${usage}` : ''}\`: ${summary}${also}.`,
    ...(forms
      ? [
          '',
          markdownTable([['form', 'meaning'], ...forms.map(([form, meaning]) => [`\`${form}\``, meaning])]),
        ]
      : []),
    ...(options ? ['', optionTable(options)] : []),
    ...(examples ? ['', '```sh', ...examples, '```'] : []),
  ]
}

function optionTable(options) {
  const rows = Object.entries(options).map(([name, { short, value, help, multiple }]) => [
    `\`${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}\``,
    `${help}${multiple ? '; may be repeated' : ''}`,
  ])
  return markdownTable([['option', 'what it does'], ...rows])
}
