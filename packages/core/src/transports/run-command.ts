// run-command.ts: runs a command line of the user's own configuration in the shell, with limits on time and output.
import type { ChildProcess } from 'node:child_process'
import type { Host } from '../host.ts'

export type CommandOutcome =
  | {
      readonly kind: 'exited'
      readonly code: number | null
      readonly signal: NodeJS.Signals | null
      readonly stdout: string
    }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'not-started'; readonly error: unknown }

export interface CommandLimits {
  readonly env: Record<string, string>
  /** The folder it starts in; the host's choice, when left out. */
  readonly cwd?: string | undefined
  readonly timeoutMs: number
  readonly maxBytes: number
}

export function runCommand(host: Host, command: string, limits: CommandLimits): Promise<CommandOutcome> {
  const windows = host.platform === 'win32'
  const [shell, args] = windows
    ? [host.env['COMSPEC'] ?? 'C:\\Windows\\System32\\cmd.exe', ['/d', '/s', '/c', `"${command}"`]]
    : ['/bin/sh', ['-c', command]]
  return new Promise((resolve) => {
    let child: ChildProcess
    try {
      child = host.spawn(shell, args, {
        env: limits.env,
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: !windows,
        windowsHide: true,
        windowsVerbatimArguments: windows,
        ...(limits.cwd !== undefined && { cwd: limits.cwd }),
      })
    } catch (error) {
      resolve({ kind: 'not-started', error })
      return
    }
    const chunks: Buffer[] = []
    let bytes = 0
    const kill = () => {
      try {
        if (windows || child.pid === undefined) child.kill('SIGKILL')
        else process.kill(-child.pid, 'SIGKILL')
      } catch {
        // It ended by itself in the meantime.
      }
    }
    const settle = (outcome: CommandOutcome) => {
      cancel()
      if (outcome.kind !== 'exited') kill()
      child.stdout?.destroy()
      resolve(outcome)
    }
    const cancel = host.awaitedTimer(limits.timeoutMs, () => settle({ kind: 'timeout' }))
    child.once('error', (error) => settle({ kind: 'not-started', error }))
    child.stdout?.on('data', (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > limits.maxBytes) settle({ kind: 'too-large' })
      else chunks.push(chunk)
    })
    child.once('close', (code, signal) =>
      settle({ kind: 'exited', code, signal, stdout: Buffer.concat(chunks).toString('utf8') }),
    )
  })
}
