// run-command.ts: one command of a model: started in the sandbox where there is one, ended with everything it started, its output
// bounded. How a process is started and its group ended is given by the program.
import type { ChildProcess } from 'node:child_process'
import { StringDecoder } from 'node:string_decoder'
import { WorkspaceError } from './errors.ts'
import { WORKSPACE_LIMITS } from './limits.ts'

/** A process that leads a group of its own. */
export interface StartedProcess {
  readonly child: ChildProcess
  /** Ends the whole group and settles when it is gone. */
  end(): Promise<void>
}

export type StartProcess = (
  program: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
) => StartedProcess

export interface CommandRun {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  readonly onOutput?: ((line: string) => void) | undefined
}

export interface CommandResult {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly timedOut: boolean
  readonly output: string
  readonly truncated: boolean
}

export async function runCommand(start: StartProcess, run: CommandRun): Promise<CommandResult> {
  const [program = '', ...args] = run.argv
  const { child, end } = start(program, args, run)
  const output = new BoundedOutput()
  for (const stream of [child.stdout, child.stderr]) {
    const decoder = new StringDecoder('utf8')
    stream?.on('data', (bytes: Buffer) => {
      const text = decoder.write(bytes)
      output.add(text)
      run.onOutput?.(text)
    })
  }
  let ended: 'timeout' | 'cancelled' | undefined
  const stop = (why: 'timeout' | 'cancelled') => {
    ended ??= why
    void end()
  }
  const cancel = () => stop('cancelled')
  const timer = setTimeout(() => stop('timeout'), run.timeoutMs)
  run.signal?.addEventListener('abort', cancel, { once: true })
  if (run.signal?.aborted) cancel()
  try {
    const { code, signal } = await exitOf(child, program)
    // What it left running in its group ends with it, and with it the pipes.
    await end()
    if (ended === 'cancelled') throw new WorkspaceError('NOT_STARTED', 'The command was cancelled.')
    return { exitCode: code, signal, timedOut: ended === 'timeout', ...output.text() }
  } finally {
    clearTimeout(timer)
    run.signal?.removeEventListener('abort', cancel)
    child.stdout?.destroy()
    child.stderr?.destroy()
  }
}

/** Its own end, not that of its pipes: a process that it left behind may hold those. */
function exitOf(
  child: ChildProcess,
  program: string,
): Promise<{ readonly code: number | null; readonly signal: string | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', (error: NodeJS.ErrnoException) => {
      const isMissing = error.code === 'ENOENT'
      reject(
        new WorkspaceError(
          'NOT_STARTED',
          isMissing
            ? `There is no program "${program}".`
            : `"${program}" could not be started: ${error.message}`,
          isMissing
            ? 'Is it installed, and is the name right? With shell: true it is a whole command line.'
            : undefined,
          error,
        ),
      )
    })
    // The pipes may hold some last output.
    child.once('exit', (code, signal) => {
      const late = setTimeout(() => resolve({ code, signal }), 200)
      child.once('close', () => {
        clearTimeout(late)
        resolve({ code, signal })
      })
    })
  })
}

/** The beginning and the end of a text of any length. */
export class BoundedOutput {
  #head = ''
  #tail = ''
  #dropped = 0

  add(text: string): void {
    const room = WORKSPACE_LIMITS.outputHeadChars - this.#head.length
    if (this.#tail === '' && this.#dropped === 0 && room > 0) {
      this.#head += text.slice(0, room)
      this.#tail = text.slice(room)
    } else this.#tail += text
    const over = this.#tail.length - WORKSPACE_LIMITS.outputTailChars
    if (over <= 0) return
    this.#dropped += over
    this.#tail = this.#tail.slice(over)
  }

  text(): { readonly output: string; readonly truncated: boolean } {
    if (this.#dropped === 0) return { output: this.#head + this.#tail, truncated: false }
    return {
      output: `${this.#head}\n[… ${this.#dropped} characters left out …]\n${this.#tail}`,
      truncated: true,
    }
  }
}
