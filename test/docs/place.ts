// place.ts: a home and a project that a page's commands run in, and the processes they leave running.
// It sees none of this machine's own settings; everything ends with the page.
import { type ChildProcess, spawn } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COMMAND } from '../support/cli.ts'

export const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const COMMAND_MS = 40_000
const BACKGROUND_MS = 20_000

export interface Place {
  readonly home: string
  readonly project: string
  readonly bin: string
  readonly env: Record<string, string>
  /** Writes a file as the page names it: `~/…` in the home, everything else in the project. */
  write(file: string, text: string): void
  /** What the command prints on both streams, and `[exit N]` when it is not 0. */
  run(command: string): Promise<string>
  /** Starts it and goes on as soon as it has printed enough. */
  start(command: string, enough: (printed: string) => boolean): Promise<string>
  close(): Promise<void>
}

export function openPlace(): Place {
  const top = mkdtempSync(join(tmpdir(), 'plugboard-docs-'))
  const home = join(top, 'home')
  const project = join(home, 'shop')
  const bin = join(top, 'bin')
  for (const folder of [project, bin]) mkdirSync(folder, { recursive: true })
  symlinkSync(COMMAND, join(bin, 'plugboard'))
  // What the pages import and start is installed, as it would be after `npm install`; npx looks here as well.
  symlinkSync(join(ROOT, 'node_modules'), join(home, 'node_modules'))
  writeFileSync(join(home, '.npmrc'), 'offline=true\nupdate-notifier=false\naudit=false\nfund=false\n')
  const env: Record<string, string> = {
    PATH: [bin, join(ROOT, 'node_modules', '.bin'), process.env['PATH']].join(':'),
    HOME: home,
    LANG: 'C.UTF-8',
    PLUGBOARD_MANAGED_DIR: join(top, 'managed'),
    PLUGBOARD_VAULT: 'file',
    // What a page starts ends with it.
    PLUGBOARD_RESIDENT: '0',
  }
  const running: ChildProcess[] = []
  let count = 0

  const launch = (command: string) => {
    const file = join(top, `output-${++count}`)
    const output = openSync(file, 'a')
    const child = spawn('bash', ['-c', command], {
      cwd: project,
      env,
      detached: true,
      stdio: ['ignore', output, output],
    })
    closeSync(output)
    running.push(child)
    return { child, printed: () => readFileSync(file, 'utf8') }
  }
  // As it would be on a reader's machine: the home by its short name, servers installed globally.
  const named = (text: string) =>
    text.replaceAll(home, '~').replaceAll(join(ROOT, 'node_modules', '.bin'), '/usr/local/bin')

  return {
    home,
    project,
    bin,
    env,
    write: (file, text) => {
      const path = file.startsWith('~/') ? join(home, file.slice(2)) : join(project, file)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    },
    run: async (command) => {
      const { child, printed } = launch(command)
      const code = await ended(child, COMMAND_MS)
      if (code === undefined)
        throw new Error(`\`${command}\` was still running after ${COMMAND_MS} ms:\n${printed()}`)
      const text = printed()
      const line = text === '' || text.endsWith('\n') ? text : `${text}\n`
      return named(code === 0 ? line : `${line}[exit ${code}]\n`)
    },
    start: async (command, enough) => {
      const { child, printed } = launch(command)
      const end = Date.now() + BACKGROUND_MS
      while (!enough(named(printed())) && child.exitCode === null && Date.now() < end)
        await new Promise((done) => setTimeout(done, 40))
      return named(printed())
    },
    close: async () => {
      await Promise.all(running.map((child) => ended(child, 0)))
      rmSync(top, { recursive: true, force: true, maxRetries: 3 })
    },
  }
}

/** Its exit code; after `ms` its whole group is ended, and the result is undefined. */
function ended(child: ChildProcess, ms: number): Promise<number | undefined> {
  if (child.exitCode !== null || child.signalCode !== null)
    return Promise.resolve(child.exitCode ?? undefined)
  return new Promise((done) => {
    const stop = (signal: NodeJS.Signals) => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, signal)
      } catch {
        // It ended by itself in this moment.
      }
    }
    const soft = setTimeout(() => stop('SIGTERM'), ms)
    const hard = setTimeout(() => stop('SIGKILL'), ms + 3000)
    child.once('exit', (code) => {
      clearTimeout(soft)
      clearTimeout(hard)
      done(code ?? undefined)
    })
  })
}
