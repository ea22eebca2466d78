// `npm run docs:pictures`: runs the real command in a demo folder with real servers and draws what it prints as
// docs/board.svg, and a conversation with a scripted model in a terminal (tmux) as docs/chat.svg; the page in a browser as docs/ui-*.png. The folders, the homes and
// everything in them are thrown away.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './build.mjs'
import { ensureInstalled, root } from './ensure-install.mjs'
import { drawPage } from './lib/page-pictures.mjs'

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
const EDIT = {
  file_path: 'greet.ts',
  old_string: "greet() {\n  return 'Hello!'",
  new_string: 'greet(name: string) {\n  return `Hello, ${name}!`',
}
const EDIT_TOOL = 'mcp__workspace__edit_file'
const REPLY = [
  'Done. `greet` now takes a **name**:\n\n',
  '```ts\ngreet("Ada") // "Hello, Ada!"\n```\n\n',
  '| file | lines |\n|------|------:|\n| greet.ts | 3 |\n',
]

const ESCAPE = String.fromCharCode(27)
const STYLE = new RegExp(`(${ESCAPE}\\[[0-9;]*m)`)
const WIDTH = 108
const CHAT_WIDTH = 80
const CHAT_ROWS = 60
const COLORS = { 31: '#f87171', 32: '#4ade80', 33: '#facc15', 34: '#60a5fa', 35: '#c084fc', 36: '#22d3ee' }

ensureInstalled()
await build()
const top = mkdtempSync(join(tmpdir(), 'plugboard-picture-'))
try {
  const shown = record(top)
  writeFileSync(join(root, 'docs/board.svg'), draw(shown))
  console.error(`Wrote docs/board.svg (${shown.length} lines)`)
  const talk = await recordChat(join(top, 'chat'))
  writeFileSync(join(root, 'docs/chat.svg'), draw(talk, CHAT_WIDTH))
  console.error(`Wrote docs/chat.svg (${talk.length} lines)`)
  await drawPage(join(top, 'page'))
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
    PLUGBOARD_RESIDENT: '0',
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

function chatScript({ user, results, tools }) {
  if (user.startsWith('Where'))
    return { text: 'We changed `greet.ts`: it takes a name now. The *tests* are still open.' }
  if (results.some(({ name }) => name === EDIT_TOOL)) return { text: REPLY, gapMs: 20 }
  if (!tools.includes(EDIT_TOOL))
    return { calls: [{ name: 'tool_search', arguments: { query: 'edit file' } }] }
  return { text: 'I will change the function.', calls: [{ name: EDIT_TOOL, arguments: EDIT }] }
}

/** A home and a project with one file; the server that edits it is built in. */
function chatFolders(folder) {
  const home = join(folder, 'home')
  const project = join(home, 'shop')
  mkdirSync(join(home, '.plugboard'), { recursive: true })
  mkdirSync(project)
  mkdirSync(join(folder, 'bin'))
  symlinkSync(join(root, 'packages/cli/bin/plugboard.cjs'), join(folder, 'bin/plugboard'))
  writeFileSync(join(project, 'greet.ts'), "export function greet() {\n  return 'Hello!'\n}\n")
  const settings = {
    disabledServers: ['codebase'],
    models: { 'claude-sonnet-4-5': { inputPrice: 3, outputPrice: 15 } },
  }
  writeFileSync(join(home, '.plugboard/settings.json'), JSON.stringify(settings))
  const folders = { [realpathSync(project)]: { trusted: false, at: '2026-01-02T00:00:00.000Z' } }
  writeFileSync(join(home, '.plugboard/approvals.json'), JSON.stringify({ version: 1, folders }))
  return { home, project }
}

/** A shell in tmux: what it shows, a wait for it, and typing. */
function openShell(cwd, env) {
  const socket = `plugboard-picture-${process.pid}`
  const tmux = (...words) => execFileSync('tmux', ['-L', socket, ...words], { encoding: 'utf8' })
  const vars = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const size = ['-x', String(CHAT_WIDTH), '-y', String(CHAT_ROWS)]
  const start = ['-f', '/dev/null', '-u', 'new-session', '-d', ...size, '-c', cwd, '-s', 'main']
  tmux(...start, 'env', '-i', ...vars, 'bash', '--norc')
  const screen = () => tmux('capture-pane', '-e', '-p', '-S', '-100', '-t', 'main')
  const press = (text) => tmux('send-keys', '-t', 'main', '-l', text)
  return {
    press,
    close: () => tmux('kill-server'),
    pane: () => tmux('list-panes', '-t', 'main', '-F', '#{pane_pid}').trim(),
    type: (text) => {
      press(text)
      tmux('send-keys', '-t', 'main', 'Enter')
    },
    see: async (what) => {
      for (const end = Date.now() + RUN_MS; ; ) {
        const shown = screen()
        if (what.test(shown.replaceAll(new RegExp(STYLE, 'g'), ''))) return shown
        if (Date.now() > end) throw new Error(`waited in vain for ${what}; the screen shows:\n${shown}`)
        await new Promise((done) => setTimeout(done, 100))
      }
    },
  }
}

/** A conversation that edits a file, is killed, and goes on: the last screen, with its colours. */
async function recordChat(folder) {
  const { modelServer } = await import('../packages/agent/src/fixtures/model-server.mjs')
  const model = await modelServer(chatScript)
  const { home, project } = chatFolders(folder)
  const { see, type, press, pane, close } = openShell(project, {
    PATH: [join(folder, 'bin'), process.env.PATH].join(':'),
    HOME: home,
    PLUGBOARD_RESIDENT: '0',
    LANG: 'C.UTF-8',
    TERM: 'screen-256color',
    PS1: '\\[\\e[J\\e[32m\\]$\\[\\e[39m\\] ',
    PLUGBOARD_MANAGED_DIR: join(folder, 'managed'),
    ANTHROPIC_API_KEY: 'k',
    ANTHROPIC_BASE_URL: model.url,
  })
  try {
    await see(/^\$ *$/m)
    type('plugboard chat')
    await see(/% of 200k context/)
    type('greet should take a name')
    await see(/\(n\)o:/)
    await new Promise((done) => setTimeout(done, 700))
    press('y')
    await see(/greet\.ts │[\s\S]*›/)
    const shell = pane()
    const pid = readFileSync(`/proc/${shell}/task/${shell}/children`, 'utf8').trim()
    process.kill(Number(pid), 'SIGKILL')
    await see(/Killed/)
    type('plugboard chat --continue')
    await see(/Continues[\s\S]*% of 200k context/)
    type('Where were we?')
    const shown = await see(/still open\.[\s\S]*\d out/)
    return shown.replaceAll(home, '~').trimEnd().split('\n')
  } finally {
    close()
    await model.close()
  }
}

function quoted(word) {
  return /[^\w./=:-]/.test(word) ? `'${word}'` : word
}

/** Text in pieces of one style each; a terminal keeps a style until it is told another, also across lines. */
function pieces(line, start = {}) {
  const found = []
  let style = start
  for (const part of line.split(STYLE)) {
    const codes = part.startsWith(`${ESCAPE}[`) ? part.slice(2, -1) : undefined
    if (codes === undefined) {
      if (part !== '') found.push({ text: part, style })
      continue
    }
    for (const code of codes.split(';').map(Number)) style = styled(style, code)
  }
  return { found, style }
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
    .found.map(({ text }) => text)
    .join('')
  if ([...plain].length <= WIDTH) return [line]
  const lines = []
  for (let at = 0; at < plain.length; at += WIDTH) lines.push(plain.slice(at, at + WIDTH))
  return lines
}

function draw(lines, columns = WIDTH) {
  const shown = lines.at(-1) === '' ? lines.slice(0, -1) : lines
  const [charWidth, lineHeight, pad, bar] = [8.4, 20, 20, 36]
  const width = Math.round(columns * charWidth + 2 * pad)
  const height = bar + shown.length * lineHeight + pad
  let last = {}
  const rows = shown.map((line, row) => {
    let column = 0
    const { found, style: end } = pieces(line, last)
    last = end
    const spans = found.map(({ text, style }) => {
      // Not every viewer keeps the spaces that a text begins with.
      const indent = text.length - text.trimStart().length
      const x = (pad + (column + indent) * charWidth).toFixed(1)
      column += [...text].length
      const fill = style.color ?? (style.dim ? '#8b949e' : '#e6edf3')
      return `<tspan x="${x}" fill="${fill}"${style.bold ? ' font-weight="bold"' : ''}>${escaped(text.slice(indent))}</tspan>`
    })
    return `<text xml:space="preserve" y="${bar + (row + 1) * lineHeight - 5}">${spans.join('')}</text>`
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
