// real-servers.ts: servers from npm as a user would configure them, for tests of what `serve` makes of many: those that are
// installed here anyway, and a few small ones that are installed on demand.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
// @ts-expect-error the scripts are plain JavaScript
import { onDemand } from '../../scripts/lib/on-demand.mjs'
import { programIn } from '../compat/program.mjs'
import { SERVERS } from '../compat/servers.mjs'
import { withRegistry } from './registry.ts'

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

/** Twelve servers, and one with an app twice; undefined when the npm registry cannot be reached, and only then. */
export function realServers(work: string): Record<string, object> | undefined {
  const fetched = SERVERS.filter(({ name }) => FETCHED.includes(name))
  const packages = [...fetched.map(({ package: name, version }) => `${name}@${version}`), `${APP}@2.0.3`]
  const folder = withRegistry<string>(() => onDemand('real-servers-1', packages))
  if (folder === undefined) return undefined
  const entries = SERVERS.flatMap((server): [string, object][] => {
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
