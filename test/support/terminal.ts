// terminal.ts: a real terminal for the command, by tmux: what a user would see and press.
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COMMAND, type Place, RESIDENT_ENV } from './cli.ts'

const script = fileURLToPath(new URL('../../scripts/ensure-system.mjs', import.meta.url))

/** Why there can be no terminal here, if so. */
export function noTerminal(): string | undefined {
  const done = spawnSync(process.execPath, [script, 'tmux'], { encoding: 'utf8', timeout: 300_000 })
  return done.status === 0 ? undefined : done.stderr.trim()
}

export interface Terminal {
  /** What is on the screen. */
  screen(): Promise<string>
  /** The lines as they were written: one that the terminal had to break is one. */
  written(): Promise<readonly string[]>
  /** Waits until it shows, and returns the screen; a text may be broken into lines anywhere. */
  see(what: string | RegExp, ms?: number): Promise<string>
  /** Keys by their tmux names (`Enter`, `Down`, `C-c`, `Escape`). */
  press(...keys: string[]): Promise<void>
  type(text: string): Promise<void>
  /** Pastes as a terminal does for a program that has enabled bracketed paste. */
  paste(text: string): Promise<void>
  resize(columns: number, rows: number): Promise<void>
  /** The process of the command that runs now. */
  pid(): Promise<number>
  /** Every byte that was written to the terminal. */
  raw(): string
  close(): Promise<void>
}

let count = 0

/** Whether to trust a folder is asked once at a terminal; unless a test is about that, the answer was no. */
export function answerAboutFolder(place: Place): void {
  const file = join(place.home, '.plugboard', 'approvals.json')
  if (existsSync(file)) return
  const folders = { [realpathSync(place.project)]: { trusted: false, at: '2026-01-02T00:00:00.000Z' } }
  place.write('~/.plugboard/approvals.json', { version: 1, folders })
}

/** Runs the command in a terminal of its own; when it ends, its exit code shows as `exit N`. */
export function openTerminal(place: Place, ...args: string[]): Promise<Terminal> {
  return openTerminalWith(place, {}, args)
}

export interface Surroundings {
  readonly columns?: number
  readonly rows?: number
  readonly env?: Readonly<Record<string, string>>
}

/** The same for several commands, one after the other. */
export async function openTerminalWith(
  place: Place,
  { columns = 110, rows = 50, env: more = {} }: Surroundings,
  ...commands: readonly (readonly string[])[]
): Promise<Terminal> {
  answerAboutFolder(place)
  const socket = `plugboard-test-${process.pid}-${++count}`
  const tmux = (...words: string[]) =>
    new Promise<string>((done, fail) => {
      execFile('tmux', ['-L', socket, ...words], { timeout: 10_000 }, (error, stdout) =>
        error ? fail(error) : done(stdout),
      )
    })
  const raw = join(place.home, '..', `screen-${count}`)
  const env = [
    `HOME=${place.home}`,
    `PATH=${process.env['PATH']}`,
    'TERM=screen',
    'LANG=C.UTF-8',
    `PLUGBOARD_MANAGED_DIR=${place.home}/managed`,
    ...Object.entries({ ...RESIDENT_ENV, ...more }).map(([name, value]) => `${name}=${value}`),
  ]
  const lines = commands.map(
    (words) =>
      `env -i ${env.map(quoted).join(' ')} ${[process.execPath, COMMAND, ...words].map(quoted).join(' ')}`,
  )
  // The shell survives a Ctrl-C that is meant for the command, to print how the command ended.
  const wait = `while [ ! -e ${quoted(`${raw}.go`)} ]; do sleep 0.02; done`
  const shell = `trap : INT; ${wait}; cd ${quoted(place.project)}; ${lines.join('; ')}; echo "exit $?"; exec sleep 600`
  const size = ['-x', String(columns), '-y', String(rows)]
  await tmux('-f', '/dev/null', '-u', 'new-session', '-d', ...size, '-s', 'main', 'sh', '-c', shell)
  await tmux('pipe-pane', '-t', 'main', `cat > ${quoted(raw)}`)
  writeFileSync(`${raw}.go`, '')
  const screen = () => tmux('capture-pane', '-p', '-S', '-200', '-t', 'main')
  return {
    screen,
    written: async () =>
      (await tmux('capture-pane', '-p', '-J', '-S', '-200', '-t', 'main'))
        .split('\n')
        .map((line) => line.trimEnd()),
    see: async (what, ms = 20_000) => {
      const end = Date.now() + ms
      for (;;) {
        const shown = await screen()
        if (typeof what === 'string' ? shows(shown, what) : what.test(shown)) return shown
        if (Date.now() > end)
          throw new Error(`waited ${ms} ms in vain for ${what}; the screen shows:\n${shown}`)
        await new Promise((done) => setTimeout(done, 60))
      }
    },
    press: async (...keys) => void (await tmux('send-keys', '-t', 'main', ...keys)),
    paste: async (text) => {
      await tmux('set-buffer', '--', text)
      await tmux('paste-buffer', '-p', '-r', '-t', 'main')
    },
    resize: async (width, height) =>
      void (await tmux('resize-window', '-t', 'main', '-x', String(width), '-y', String(height))),
    pid: async () => {
      const parent = (await tmux('list-panes', '-t', 'main', '-F', '#{pane_pid}')).trim()
      const children = readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8').trim().split(/\s+/)
      return Number(children.at(-1))
    },
    raw: () => (existsSync(raw) ? readFileSync(raw, 'utf8') : ''),
    type: async (text) => void (await tmux('send-keys', '-t', 'main', '-l', text)),
    close: async () => {
      // The server of this socket is only ours, and ends with everything in it.
      await tmux('kill-server').catch(() => undefined)
    },
  }
}

/** Where a line breaks depends on how long the paths of this machine are; no test is about that unless it says so. */
function shows(screen: string, text: string): boolean {
  if (screen.includes(text)) return true
  const words = text.replace(/\s+/g, ' ')
  return screen.replace(/\s+/g, ' ').includes(words) || screen.replace(/ *\n/g, '').includes(words)
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
