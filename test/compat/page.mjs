// page.mjs: outcomes as a table for the terminal and as docs/compatibility.md.
import { markdownTable, plainTable } from '../../scripts/lib/table.mjs'

const OVER = { http: 'Streamable HTTP', sse: 'SSE', ws: 'WebSocket' }

export function isAsExpected({ expected, problems }) {
  return (expected === undefined) === (problems.length === 0)
}

const COLUMNS = [
  ['server', ({ name }) => name],
  ['package', (row) => `${row.package} ${row.version}${row.node ? ` (Node ${row.node})` : ''}`],
  ['over', ({ over, npx }) => OVER[over] ?? (npx ? 'stdio, npx' : 'stdio')],
  ['protocol', ({ protocolVersion }) => protocolVersion ?? ''],
  ['tools', ({ tools }) => tools ?? ''],
  ['resources', ({ resources, templates }) => (resources === undefined ? '' : resources + templates)],
  ['prompts', ({ prompts }) => prompts ?? ''],
  ['called', ({ called }) => called ?? '–'],
  ['noise', ({ over, noise }) => (over || !noise ? '–' : `${noise.stdout} / ${noise.stderr}`)],
  ['processes', ({ processes }) => processes ?? '–'],
  ['connect', ({ connectMs }) => ms(connectMs)],
  ['close', ({ closeMs }) => ms(closeMs)],
  ['outcome', outcome],
  ['SDK alone', ({ sdk }) => sdk ?? ''],
]

export function terminalTable(rows) {
  const shown = COLUMNS.filter(([title]) => title !== 'package')
  const cells = rows.map((row) => shown.map(([, cell]) => cell(row)))
  return plainTable([shown.map(([title]) => title), ...cells], { most: 40 })
}

export function markdownPage(rows, { date, node, sdk }) {
  const well = rows.filter(({ problems }) => problems.length === 0)
  const packages = new Set(rows.map((row) => row.package))
  const sum = (key) => rows.reduce((total, row) => total + (row[key] ?? 0), 0)
  return [
    '# Compatibility',
    '',
    `${packages.size} real MCP servers from npm, ${rows.length} ways of reaching them, on ${date} with Node ${node}: ${well.length} of`,
    `${rows.length} work. Run it yourself: \`npm run compat\`, or \`npm run compat -- playwright notion\` for some of them. The servers`,
    'are installed when first needed, pinned, into a cache folder (`PLUGBOARD_CACHE_DIR`), each into one of its own.',
    '',
    'A row works when, through the public API and with nothing that a user could not write into a file, the server',
    '',
    '- connects, and lists its tools, resources and prompts;',
    `- has every tool (${sum('tools')} in all) turned into what the Anthropic and OpenAI APIs (strict too) and the AI SDK accept, and into`,
    '  a Zod type that says yes and no to the same arguments as a reference JSON Schema validator;',
    '- answers one harmless call with what is expected, where it has a tool that needs no service behind it;',
    '- is closed within a second (who is late is tried once more), and leaves no process behind: none of its group, and',
    '  none of those that made a group of their own, once they have had a moment to notice.',
    '',
    'Every server runs in a throw-away home and folder, without the network it would use; secrets are dummies. Resources',
    'include templates. Noise is lines on stdout that are no messages / lines on stderr. Processes are those that were',
    'running before it was closed. Times are of one run, two servers at a time on a small machine: they are facts of',
    'that run, not a benchmark.',
    '',
    `"SDK alone" is the bare \`@modelcontextprotocol/client\` ${sdk} with its defaults, on the same server: how many tools it`,
    'listed, or what it said instead, and how it closed where that took more than a second or left something running.',
    '',
    markdownTable([
      COLUMNS.map(([title]) => title),
      ...rows.map((row) => COLUMNS.map(([, cell]) => cell(row))),
    ]),
    ...remarks(rows),
    '',
  ].join('\n')
}

function remarks(rows) {
  const noted = rows.filter(({ note }) => note)
  if (noted.length === 0) return []
  return [
    '',
    '## What is odd about some of them',
    '',
    ...noted.map(({ name, note }) => `- **${name}**: ${note}`),
  ]
}

function outcome({ problems, expected }) {
  if (problems.length === 0) return expected ? `works, although: ${expected}` : 'works'
  return `fails: ${expected ?? problems.join('; ')}`
}

function ms(value) {
  return value === undefined ? '' : `${value} ms`
}
