// real-clients.ts: MCP clients of other authors, as a user would run them: installed on demand, with a Node new enough for
// them, in a home of their own.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
// @ts-expect-error the scripts are plain JavaScript
import { nodeIn, onDemand } from '../../scripts/lib/on-demand.mjs'
import { withRegistry } from './registry.ts'

const PACKAGES = [
  'node@24',
  '@modelcontextprotocol/inspector@2.12.0',
  'mcporter@0.12.3',
  '@anthropic-ai/claude-code@2.1.325',
]
const RUN_MS = 60_000

export interface RealClients {
  inspector(home: string, ...args: string[]): Promise<string>
  mcporter(home: string, ...args: string[]): Promise<string>
  claude(home: string, ...args: string[]): Promise<string>
}

/** Undefined when the npm registry cannot be reached, and only then. */
export function realClients(): RealClients | undefined {
  const folder = withRegistry<string>(() => onDemand('real-clients-1', PACKAGES))
  if (folder === undefined) return undefined
  const bin = (name: string) => join(folder, 'node_modules', ...name.split('/'))
  const node: string = nodeIn(folder)
  const script = (path: string) => (home: string, args: string[]) => run(home, node, [bin(path), ...args])
  const inspector = script('@modelcontextprotocol/inspector/clients/launcher/build/index.js')
  const mcporter = script('mcporter/dist/cli.js')
  return {
    inspector: (home, ...args) => inspector(home, ['--cli', '--format', 'json', ...args]),
    mcporter: (home, ...args) => mcporter(home, args),
    claude: (home, ...args) => run(home, bin('@anthropic-ai/claude-code/bin/claude.exe'), args),
  }
}

/** What it printed; a client that fails fails the test, with its error output. */
function run(home: string, command: string, args: readonly string[]): Promise<string> {
  const env = { PATH: process.env['PATH'] ?? '', HOME: home, USERPROFILE: home }
  return new Promise((done, fail) => {
    const options = { cwd: home, env, timeout: RUN_MS, maxBuffer: 16 * 1024 * 1024 }
    const child = execFile(command, args, options, (error, stdout, stderr) => {
      if (error) fail(new Error(`${error.message}\n${stdout}\n${stderr}`))
      else done(stdout)
    })
    child.stdin?.end()
  })
}
