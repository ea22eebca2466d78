// kit.ts: runs the built command and small scripts in processes of their own, and reports what they printed and how they
// ended. Nothing here keeps the child's event loop alive: its input is closed, or is that of the test runner.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { COMMAND } from '../support/cli.ts'

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url))
const LIBRARY = pathToFileURL(here('../../packages/core/dist/index.js')).href
/** A program that has not ended by then never will. */
const PATIENCE_MS = 55_000

export interface Ended {
  /** Undefined when it had to be killed. */
  readonly code: number | undefined
  readonly stdout: string
  readonly stderr: string
}

export type Stdin = 'closed' | 'inherited'

export interface Home {
  readonly folder: string
  path(name: string): string
  /** The servers of the user's own settings. */
  servers(entries: Readonly<Record<string, unknown>>): void
  command(args: readonly string[], options?: RunOptions): Promise<Ended>
  script(source: string, options?: RunOptions): Promise<Ended>
  remove(): void
}

export interface RunOptions {
  readonly stdin?: Stdin
  readonly env?: Readonly<Record<string, string>>
  /** How long it may run. */
  readonly patienceMs?: number
  /** Called with the pid once it runs. */
  readonly started?: (pid: number) => void
  /** Ends it by this signal as soon as `when` says so. */
  readonly interrupt?: { readonly signal: NodeJS.Signals; readonly when: () => boolean }
}

export function makeHome(): Home {
  const folder = mkdtempSync(join(tmpdir(), 'plugboard-process-'))
  const path = (name: string) => join(folder, name)
  const write = (name: string, text: string) => {
    mkdirSync(dirname(path(name)), { recursive: true })
    writeFileSync(path(name), text)
    return path(name)
  }
  let scripts = 0
  const run = (args: readonly string[], options: RunOptions = {}) => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      PLUGBOARD_MANAGED_DIR: path('managed'),
      // What these tests start ends with them.
      PLUGBOARD_RESIDENT: '0',
      ...options.env,
    }
    return ended(args, folder, env, options)
  }
  return {
    folder,
    path,
    servers: (entries) => {
      const settings = { disabledServers: ['codebase'], mcpServers: entries }
      write('.plugboard/settings.json', JSON.stringify(settings))
    },
    command: (args, options) => run([COMMAND, ...args], options),
    script: (source, options) => {
      const file = write(
        `script-${++scripts}.mjs`,
        `import { openBoard } from ${JSON.stringify(LIBRARY)}\n${source}`,
      )
      return run([file], options)
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function ended(
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>>,
  options: RunOptions,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const stdin = options.stdin === 'inherited' ? 'inherit' : 'ignore'
    const child = spawn(process.execPath, args, { cwd, env, stdio: [stdin, 'pipe', 'pipe'] })
    let stdout = ''
    let stderr = ''
    child.stdout?.on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr?.on('data', (chunk) => {
      stderr += chunk
    })
    let late = false
    const { interrupt } = options
    const look = setInterval(() => {
      if (!interrupt?.when()) return
      clearInterval(look)
      child.kill(interrupt.signal)
    }, 20)
    const timer = setTimeout(() => {
      late = true
      child.kill('SIGKILL')
    }, options.patienceMs ?? PATIENCE_MS)
    child.once('error', reject)
    child.once('spawn', () => child.pid !== undefined && options.started?.(child.pid))
    child.once('close', (code) => {
      clearTimeout(timer)
      clearInterval(look)
      resolve({ code: late ? undefined : (code ?? 1), stdout, stderr })
    })
  })
}

/** A stdio server of these tests, with its fault. */
export function stdioPeer(home: Home, fault: string, entry: Readonly<Record<string, unknown>> = {}) {
  return {
    command: process.execPath,
    args: [here('./stdio.mjs')],
    env: { FAULT: fault, MARK: home.path('mark'), PIDS: home.path('pids') },
    ...entry,
  }
}

const BODY = `
  const board = await openBoard()
  try {
    const result = await board.call('s.TOOL', {}, { caller: 'user' })
    console.log(result.content.map((part) => part.text).join(''))
  } catch (error) {
    console.error(error.code, error.message)
    process.exitCode = 1
  } finally {
    await board.close()
  }
`

/** The ways in which a user calls one tool. */
export const WAYS = {
  'the command': (home: Home, tool: string, options?: RunOptions) =>
    home.command(['call', `s.${tool}`], options),
  'the command with --json': (home: Home, tool: string, options?: RunOptions) =>
    home.command(['call', `s.${tool}`, '--json'], options),
  'a script with top-level await': (home: Home, tool: string, options?: RunOptions) =>
    home.script(BODY.replace('TOOL', tool), options),
  'a script with main()': (home: Home, tool: string, options?: RunOptions) =>
    home.script(`async function main() {${BODY.replace('TOOL', tool)}}\nmain()\n`, options),
} as const
export type Way = keyof typeof WAYS
export const WAY_NAMES = Object.keys(WAYS) as Way[]
