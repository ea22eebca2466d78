// How much a user pays for reading the configuration: `plugboard list` over 200 disabled servers against a bare
// `node -e 0`, and the configuration pipeline's own CPU.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cpuOf, interleave, median, timed } from './lib/measure.mjs'
import { report } from './lib/report.mjs'

const SERVERS = 200
const ROUNDS = 25
const root = fileURLToPath(new URL('..', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'plugboard-bench-'))
const home = join(folder, 'home')
const project = join(folder, 'project')
mkdirSync(join(home, '.plugboard'), { recursive: true })
mkdirSync(project, { recursive: true })

const servers = Object.fromEntries(
  Array.from({ length: SERVERS }, (_, index) => [
    `server-${index}`,
    index % 2
      ? {
          type: 'http',
          url: `https://example.com/${index}/mcp`,
          headers: { Authorization: 'Bearer ${TOKEN:-x}' },
          disabled: true,
        }
      : {
          command: 'node',
          args: ['server.js', '--port', `${3000 + index}`],
          env: { INDEX: `${index}` },
          disabled: true,
        },
  ]),
)
writeFileSync(
  join(home, '.plugboard', 'settings.json'),
  JSON.stringify({ mcpServers: servers, disabledServers: ['codebase'] }, null, 2),
)
const env = { PATH: process.env.PATH, HOME: home, PLUGBOARD_RESIDENT: '0' }
const command = join(root, 'packages/cli/bin/plugboard.cjs')
const node = (...args) =>
  execFileSync(process.execPath, args, { cwd: project, env, stdio: ['ignore', 'pipe', 'ignore'] })

try {
  const listed = JSON.parse(node(command, 'list', '--json').toString()).servers.length
  if (listed < SERVERS) throw new Error(`only ${listed} of ${SERVERS} servers were listed`)
  const samples = await interleave(
    {
      node: () => timed(() => node('-e', '0')),
      list: () => timed(() => node(command, 'list')),
      version: () => timed(() => node(command, '--version')),
    },
    ROUNDS,
  )
  const floor = median(samples.node)
  const list = median(samples.list)

  const { loadConfiguration } = await import(join(root, 'packages/core/dist/config/index.js'))
  const { systemHost } = await import(join(root, 'packages/core/dist/host.js'))
  const host = systemHost({ env })
  const load = () => loadConfiguration({ host, cwd: project })
  const first = await cpuOf(load)
  const cpu = []
  for (let round = 0; round < ROUNDS; round++) cpu.push(await cpuOf(load))

  report(
    'config',
    `Configuration: ${SERVERS} configured, disabled servers`,
    [
      {
        what: '`plugboard list`, whole command',
        value: `${list.toFixed(0)} ms`,
        against: `node -e 0: ${floor.toFixed(0)} ms`,
        ratio: list / floor,
        goal: '≤ 2.0',
        met: list / floor <= 2,
      },
      {
        what: '`plugboard --version`',
        value: `${median(samples.version).toFixed(0)} ms`,
        against: `node -e 0: ${floor.toFixed(0)} ms`,
        ratio: median(samples.version) / floor,
      },
      {
        what: 'the pipeline, first load in a process (CPU)',
        value: `${first.toFixed(1)} ms`,
        against: `node -e 0: ${floor.toFixed(0)} ms`,
        ratio: first / floor,
        goal: '< 30 ms',
        met: first < 30,
      },
      {
        what: 'the pipeline, warm (CPU)',
        value: `${median(cpu).toFixed(1)} ms`,
        against: `node -e 0: ${floor.toFixed(0)} ms`,
        ratio: median(cpu) / floor,
        goal: '< 30 ms',
        met: median(cpu) < 30,
      },
    ],
    [
      `Medians of ${ROUNDS} interleaved rounds; a shared machine, so read the ratios. The built-in is switched off too: with it on, the command also connects it.`,
    ],
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
