// real-server-entries.mjs: servers from npm as a user would configure them: those that are installed here anyway, and a few small ones
// that are installed on demand. Plain JavaScript, for tests and benchmarks.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onDemand } from '../../scripts/lib/on-demand.mjs'
import { programIn } from '../compat/program.mjs'
import { SERVERS } from '../compat/servers.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const HERE = [
  'everything',
  'filesystem',
  'memory',
  'sequential-thinking',
  'github',
  'gitlab',
  'slack',
  'notion',
  'circleci',
  'git',
]
const FETCHED = ['brave-search-old', 'google-maps']
const APP = '@modelcontextprotocol/server-budget-allocator'

/** Twelve servers, and one with an app twice; `work` is the folder that they may use. Throws when one cannot be installed. */
export function realServerEntries(work) {
  const fetched = SERVERS.filter(({ name }) => FETCHED.includes(name))
  const packages = [...fetched.map(({ package: name, version }) => `${name}@${version}`), `${APP}@2.0.3`]
  const folder = onDemand('real-servers-1', packages)
  const entries = SERVERS.flatMap((server) => {
    const { name } = server
    if (!HERE.includes(name) && !FETCHED.includes(name)) return []
    const { command, args } = programIn(HERE.includes(name) ? root : folder, server)
    const own = typeof server.args === 'function' ? server.args({ work }) : (server.args ?? [])
    const env = typeof server.env === 'function' ? server.env({ work }) : (server.env ?? {})
    return [[name, { command, args: [...args, ...own], env, cwd: work }]]
  })
  const app = {
    command: process.execPath,
    args: [join(folder, 'node_modules', APP, 'dist', 'index.js'), '--stdio'],
  }
  return { ...Object.fromEntries(entries), budget: app, 'budget-two': app }
}
