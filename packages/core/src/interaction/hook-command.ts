// hook-command.ts: one hook that is a command: a shell line, JSON on its standard input, JSON on its standard output.
// Exit 0 responds, exit 2 refuses with its standard error as the reason, anything else is a fault that stops nothing.
import type { ChildProcess } from 'node:child_process'
import type { Host } from '../host.ts'
import { isObject } from '../json.ts'
import { HOOK_LIMITS } from '../limits.ts'
import type { HookResult } from './hooks.ts'

export interface CommandOptions {
  readonly host: Host
  readonly timeoutMs: number
  readonly cwd?: string | undefined
  readonly signal?: AbortSignal | undefined
}

const DECLINE_EXIT = 2

export function runCommandHook(
  command: string,
  input: unknown,
  options: CommandOptions,
): Promise<HookResult> {
  const { host, signal } = options
  if (signal?.aborted)
    return Promise.resolve({ kind: 'failed', problem: 'was not run: the call was cancelled' })
  return new Promise((resolve) => {
    let child: ChildProcess
    try {
      child = host.spawn(command, [], {
        shell: true,
        // Its own group, so that what the command started ends with it.
        detached: host.platform !== 'win32',
        stdio: ['pipe', 'pipe', 'pipe'],
        env: { ...host.env } as NodeJS.ProcessEnv,
        windowsHide: true,
        ...(options.cwd !== undefined && { cwd: options.cwd }),
      })
    } catch (error) {
      resolve({ kind: 'failed', problem: `could not be started (${codeOf(error)})` })
      return
    }
    const out = collect(child.stdout, () => finish({ kind: 'failed', problem: 'wrote more than it may' }))
    const err = collect(child.stderr)
    let done = false
    const finish = (result: HookResult) => {
      if (done) return
      done = true
      stopTimer()
      signal?.removeEventListener('abort', onAbort)
      killGroup(child, host.platform)
      resolve(result)
    }
    const stopTimer = host.awaitedTimer(options.timeoutMs, () =>
      finish({ kind: 'failed', problem: `took longer than ${options.timeoutMs} ms` }),
    )
    const onAbort = () => finish({ kind: 'failed', problem: 'was stopped: the call was cancelled' })
    signal?.addEventListener('abort', onAbort, { once: true })
    child.on('error', (error) =>
      finish({ kind: 'failed', problem: `could not be started (${codeOf(error)})` }),
    )
    child.on('close', (code, killed) => finish(outcome(code, killed, out(), err())))
    // A command that does not read its input closes the pipe; its exit code says the rest.
    child.stdin?.on('error', () => undefined)
    child.stdin?.end(`${JSON.stringify(input)}\n`)
  })
}

function outcome(code: number | null, killed: string | null, stdout: string, stderr: string): HookResult {
  if (code === DECLINE_EXIT)
    return { kind: 'decline', reason: stderr.trim().slice(0, 2000) || 'a hook declined' }
  if (code !== 0)
    return { kind: 'failed', problem: killed ? `was ended by ${killed}` : `exited with ${code}` }
  const text = stdout.trim()
  if (!text.startsWith('{')) return { kind: 'nothing' }
  try {
    const output: unknown = JSON.parse(text)
    return isObject(output) ? { kind: 'output', output } : { kind: 'nothing' }
  } catch {
    return { kind: 'failed', problem: 'answered with something that is not JSON' }
  }
}

function collect(stream: NodeJS.ReadableStream | null, onTooMuch?: () => void): () => string {
  const chunks: Buffer[] = []
  let bytes = 0
  stream?.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= HOOK_LIMITS.outputBytes) chunks.push(chunk)
    else onTooMuch?.()
  })
  stream?.on('error', () => undefined)
  return () => Buffer.concat(chunks).toString('utf8')
}

function killGroup(child: ChildProcess, platform: NodeJS.Platform): void {
  if (child.pid === undefined) return
  try {
    if (platform === 'win32') child.kill()
    else process.kill(-child.pid, 'SIGKILL')
  } catch {
    // The whole group is gone already, which is the usual case.
  }
}

function codeOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code ?? message
}
