// cli.ts: runs the built command as a user would, in a folder and a home of its own.
import { type ChildProcess, execFile, execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const COMMAND = fileURLToPath(new URL('../../packages/cli/bin/plugboard.cjs', import.meta.url))

export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** stdout as JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever the command printed
  readonly json: any
}

export interface Place {
  readonly home: string
  readonly project: string
  run(...args: string[]): Promise<Ran>
  runWith(env: Readonly<Record<string, string>>, ...args: string[]): Promise<Ran>
  /** With something on standard input. */
  runPiped(stdin: string, ...args: string[]): Promise<Ran>
  runPipedWith(env: Readonly<Record<string, string>>, stdin: string, ...args: string[]): Promise<Ran>
  /** Presses Ctrl-C as soon as the output so far allows it. */
  interrupt(when: (stdout: string) => boolean, ...args: string[]): Promise<Ran>
  /** Writes a file below the project (or below the home with `~/`); objects become JSON. */
  write(path: string, content: unknown): string
  read(path: string): string
  remove(): void
}

/**
 * Whether commands of a test use the resident board: `PLUGBOARD_TEST_RESIDENT=1` runs the same tests on it, with a process for
 * each place. A test about either mode sets the variable itself.
 */
export const RESIDENT_ENV: Readonly<Record<string, string>> = {
  PLUGBOARD_RESIDENT: process.env['PLUGBOARD_TEST_RESIDENT'] === '1' ? '1' : '0',
}

export function makePlace(): Place {
  const top = mkdtempSync(join(tmpdir(), 'plugboard-cli-'))
  const home = join(top, 'home')
  const project = join(top, 'project')
  mkdirSync(home)
  mkdirSync(project)
  const where = (path: string) => (path.startsWith('~/') ? join(home, path.slice(2)) : join(project, path))
  const start = (
    env: Readonly<Record<string, string>>,
    args: readonly string[],
    drive: (child: ChildProcess) => void,
  ): Promise<Ran> =>
    new Promise((done) => {
      const surroundings = {
        PATH: process.env['PATH'] ?? '',
        HOME: home,
        // This machine's own policy is not seen.
        PLUGBOARD_MANAGED_DIR: join(top, 'managed'),
        ...RESIDENT_ENV,
        ...env,
      }
      const options = { cwd: project, env: surroundings, timeout: 60_000, maxBuffer: 64 * 1024 * 1024 }
      const child = execFile(process.execPath, [COMMAND, ...args], options, (error, stdout, stderr) => {
        const code = error ? (typeof error.code === 'number' ? error.code : 1) : 0
        done({
          code,
          stdout,
          stderr,
          get json() {
            try {
              return JSON.parse(stdout)
            } catch (cause) {
              const said = `${stdout.slice(0, 500)}\n${stderr.slice(0, 2000)}`
              throw new Error(`${args.join(' ')} printed no JSON and ended with ${code}: ${said}`, { cause })
            }
          },
        })
      })
      drive(child)
    })
  const runWith: Place['runWith'] = (env, ...args) => start(env, args, (child) => child.stdin?.end())
  const runPipedWith: Place['runPipedWith'] = (env, stdin, ...args) =>
    start(env, args, (child) => {
      // A command that has read enough closes its input.
      child.stdin?.on('error', () => undefined)
      child.stdin?.end(stdin)
    })
  return {
    home,
    project,
    runWith,
    run: (...args) => runWith({}, ...args),
    runPipedWith,
    runPiped: (stdin, ...args) => runPipedWith({}, stdin, ...args),
    interrupt: (when, ...args) =>
      start({}, args, (child) => {
        child.stdin?.end()
        let printed = ''
        child.stdout?.on('data', (chunk) => {
          printed += chunk
        })
        const look = setInterval(() => {
          if (!when(printed)) return
          clearInterval(look)
          child.kill('SIGINT')
        }, 20)
        child.on('exit', () => clearInterval(look))
      }),
    write: (path, content) => {
      const file = where(path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content, null, 2))
      return file
    },
    read: (path) => readFileSync(where(path), 'utf8'),
    remove: () => {
      // A resident board that a test started ends with its place.
      if (existsSync(join(home, '.plugboard/state/resident/board.sock')))
        execFileSync(process.execPath, [COMMAND, 'down'], {
          env: { PATH: process.env['PATH'] ?? '', HOME: home },
          stdio: 'ignore',
        })
      endStarting(home)
      rmSync(top, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}

/** A command that was killed while it started a board leaves a process that listens only later, in a folder that it makes anew. */
function endStarting(home: string): void {
  if (!existsSync(join(home, '.plugboard/state/resident')) || !existsSync('/proc/self/environ')) return
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const read = (file: string) => {
      try {
        return readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0')
      } catch {
        // It ended, or is not ours.
        return []
      }
    }
    if (read('cmdline').includes('--foreground') && read('environ').includes(`HOME=${home}`))
      process.kill(Number(pid), 'SIGKILL')
  }
}
