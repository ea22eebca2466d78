// shell-command.ts: `!command`: runs a command of the user in the project and returns what it printed, bounded.
import { spawn } from 'node:child_process'

export interface ShellResult {
  readonly output: string
  /** Undefined when it was stopped. */
  readonly code: number | undefined
}

const MOST_CHARS = 100_000

export function runShell(
  command: string,
  cwd: string,
  onOutput: (text: string) => void,
  signal: AbortSignal,
): Promise<ShellResult> {
  return new Promise((resolve, reject) => {
    const shell = process.env['SHELL'] || '/bin/sh'
    const isWindows = process.platform === 'win32'
    const [program, args] = isWindows ? ['cmd.exe', ['/d', '/s', '/c', command]] : [shell, ['-c', command]]
    // A group of its own, so that Esc ends everything that the command started.
    const child = spawn(program, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'], detached: !isWindows })
    let output = ''
    const stop = () => {
      try {
        if (child.pid !== undefined && !isWindows) process.kill(-child.pid, 'SIGTERM')
        else child.kill()
      } catch {
        // It has just ended.
      }
    }
    const take = (bytes: Buffer) => {
      const text = bytes.toString('utf8')
      if (output.length < MOST_CHARS) onOutput(text)
      output = (output + text).slice(0, MOST_CHARS)
    }
    child.stdout?.on('data', take)
    child.stderr?.on('data', take)
    signal.addEventListener('abort', stop, { once: true })
    child.on('error', reject)
    child.on('close', (code) => {
      signal.removeEventListener('abort', stop)
      resolve({ output, code: signal.aborted ? undefined : (code ?? 1) })
    })
  })
}
