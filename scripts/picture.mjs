// `npm run docs:picture`: runs the real command in a demo folder with real servers and draws what it prints as
// docs/board.svg. The folder, the home and everything in them are thrown away.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'

/** What is typed. The first run of a server is slower than the next ones; the picture shows a warm machine. */
const COMMANDS = [
  ['list'],
  ['approve', 'memory'],
  ['call', 'everything.get-sum', 'a=19', 'b=23'],
  ['call', 'files.move_file', 'source=README.md', 'destination=gone.md'],
]
const SETTINGS = {
  mcpServers: {
    everything: { command: 'mcp-server-everything' },
    files: { command: 'mcp-server-filesystem', args: ['.'] },
    docs: { type: 'http', url: 'http://127.0.0.1:9/mcp' },
  },
  permissions: { deny: ['mcp__files__move_file'] },
}
const PROJECT = { mcpServers: { memory: { command: 'mcp-server-memory' } } }
const RUN_MS = 60_000
const ESCAPE = String.fromCharCode(27)
const STYLE = new RegExp(`(${ESCAPE}\\[[0-9;]*m)`)
const WIDTH = 108
const COLORS = { 31: '#f87171', 32: '#4ade80', 33: '#facc15', 34: '#60a5fa', 35: '#c084fc', 36: '#22d3ee' }

ensureInstalled()
await build()
const top = mkdtempSync(join(tmpdir(), 'plugboard-picture-'))
try {
  const shown = record(top)
  writeFileSync(join(root, 'docs/board.svg'), draw(shown))
  console.error(`Wrote docs/board.svg (${shown.length} lines)`)
} finally {
  rmSync(top, { recursive: true, force: true })
}

/** The lines of a session, with their colours. */
function record(folder) {
  const home = join(folder, 'home')
  const project = join(home, 'shop')
  mkdirSync(join(home, '.plugboard'), { recursive: true })
  mkdirSync(project)
  mkdirSync(join(folder, 'bin'))
  symlinkSync(join(root, 'packages/cli/bin/plugboard.cjs'), join(folder, 'bin/plugboard'))
  writeFileSync(join(home, '.plugboard/settings.json'), JSON.stringify(SETTINGS))
  writeFileSync(join(project, '.mcp.json'), JSON.stringify(PROJECT))
  writeFileSync(join(project, 'README.md'), '# Shop\n')
  const env = {
    PATH: [join(folder, 'bin'), join(root, 'node_modules/.bin'), process.env.PATH].join(':'),
    HOME: home,
    LANG: 'C.UTF-8',
    FORCE_COLOR: '1',
    PLUGBOARD_MANAGED_DIR: join(folder, 'managed'),
  }
  const run = (args) => {
    // One stream, as a terminal shows it.
    const line = ['plugboard', ...args].map((word) => `'${word}'`).join(' ')
    const done = spawnSync('sh', ['-c', `${line} 2>&1`], {
      cwd: project,
      env,
      encoding: 'utf8',
      timeout: RUN_MS,
    })
    if (done.error) throw done.error
    return done.stdout.replaceAll(home, '~').trimEnd().split('\n')
  }
  run(['list'])
  return COMMANDS.flatMap((args) => [
    `\u001b[32m$\u001b[39m \u001b[1mplugboard ${args.map(quoted).join(' ')}\u001b[22m`,
    ...run(args).flatMap((line) => wrap(line)),
    '',
  ])
}

function quoted(word) {
  return /[^\w./=:-]/.test(word) ? `'${word}'` : word
}

/** Text in pieces of one style each. */
function pieces(line) {
  const found = []
  let style = {}
  for (const part of line.split(STYLE)) {
    const codes = part.startsWith(`${ESCAPE}[`) ? part.slice(2, -1) : undefined
    if (codes === undefined) {
      if (part !== '') found.push({ text: part, style })
      continue
    }
    for (const code of codes.split(';').map(Number)) style = styled(style, code)
  }
  return found
}

function styled(style, code) {
  if (code === 0) return {}
  if (code === 1) return { ...style, bold: true }
  if (code === 2) return { ...style, dim: true }
  if (code === 22) return { ...style, bold: false, dim: false }
  if (code === 39) return { ...style, color: undefined }
  return COLORS[code] ? { ...style, color: COLORS[code] } : style
}

/** As a terminal of that width would break it; colours do not cross the break. */
function wrap(line) {
  const plain = pieces(line)
    .map(({ text }) => text)
    .join('')
  if ([...plain].length <= WIDTH) return [line]
  const lines = []
  for (let at = 0; at < plain.length; at += WIDTH) lines.push(plain.slice(at, at + WIDTH))
  return lines
}

function draw(lines) {
  const shown = lines.at(-1) === '' ? lines.slice(0, -1) : lines
  const [charWidth, lineHeight, pad, bar] = [8.4, 20, 20, 36]
  const width = Math.round(WIDTH * charWidth + 2 * pad)
  const height = bar + shown.length * lineHeight + pad
  const rows = shown.map((line, row) => {
    let column = 0
    const spans = pieces(line).map(({ text, style }) => {
      const x = (pad + column * charWidth).toFixed(1)
      column += [...text].length
      const fill = style.color ?? (style.dim ? '#8b949e' : '#e6edf3')
      return `<tspan x="${x}" fill="${fill}"${style.bold ? ' font-weight="bold"' : ''}>${escaped(text)}</tspan>`
    })
    return `<text y="${bar + (row + 1) * lineHeight - 5}">${spans.join('')}</text>`
  })
  const dots = ['#ff5f57', '#febc2e', '#28c840'].map(
    (fill, at) => `<circle cx="${24 + at * 20}" cy="18" r="6" fill="${fill}"/>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="A terminal session with plugboard">`,
    `<rect width="${width}" height="${height}" rx="10" fill="#0d1117"/>`,
    ...dots,
    `<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14" xml:space="preserve">`,
    ...rows,
    '</g>',
    '</svg>',
    '',
  ].join('\n')
}

function escaped(text) {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
