// stdio.ts: a server as a child process that writes one JSON message per line. It owns the child, its group, its
// pipes and its stderr; it does not decide whether to start it again.
import type { ChildProcess, SpawnOptions } from 'node:child_process'
import { existsSync } from 'node:fs'
import { basename } from 'node:path'
import type { Readable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import type { StdioEntry } from '../config/entry.ts'
import { isInside } from '../config/project.ts'
import { findProgram, neutralFolder } from '../config/start-folder.ts'
import { Cancelled, InitError, IoError, ParseError } from '../errors.ts'
import { LOG_LIMITS, STDIO_LIMITS } from '../limits.ts'
import { LastLines } from '../text/last-lines.ts'
import { LineSplitter } from '../text/line-splitter.ts'
import { childEnvironment } from './environment.ts'
import { messagesIn } from './json-rpc-messages.ts'
import type { TransportContext } from './open.ts'
import { watchdogOf } from './orphan-watchdog.ts'
import { tooLargeAnswer } from './oversized-response.ts'
import { ProcessGroup } from './process-group.ts'
import { resolveWindowsCommand } from './windows-command.ts'

interface Running {
  readonly child: ChildProcess
  readonly group: ProcessGroup
}

/** A message that is not written yet. */
interface Unsent {
  sent?(): void
  failed(error: Error): void
}

/** What follows it runs in a microtask, as with `queueMicrotask`, for less. */
const soon = Promise.resolve()

export class StdioTransport implements Transport {
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  // The SDK's own signature; a method type would not be assignable to it.
  onmessage?: Transport['onmessage']
  /** Always drained into the log; the member exists because the SDK recognises a stdio transport by it. */
  readonly stderr = null
  readonly #entry: StdioEntry
  readonly #context: TransportContext
  readonly #tail = new LastLines(STDIO_LIMITS.stderrTailBytes)
  #state: 'new' | 'open' | 'lost' | 'closed' = 'new'
  #running: Running | undefined
  #closing: Promise<void> | undefined
  #outbox: string[] = []
  #senders: Unsent[] = []
  /** Sends that failed and wait for the reason. */
  readonly #refusals = new Set<(why: Error) => void>()
  #unsentBytes = 0

  constructor(entry: StdioEntry, context: TransportContext) {
    this.#entry = entry
    this.#context = context
  }

  get pid(): number | null {
    return this.#running?.child.pid ?? null
  }

  /** The last lines that the server wrote to stderr. */
  stderrTail(): string {
    return this.#tail.text()
  }

  async start(): Promise<void> {
    if (this.#state !== 'new')
      throw new InitError('This transport was started before.', this.#details('transport'))
    if (this.#context.signal?.aborted === true) throw new Cancelled()
    const child = this.#spawn()
    const { pid } = child
    const spawned = new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', (error) => reject(this.#spawnError(error)))
    })
    // Without a pid there is no process, and `error` follows with the reason.
    if (pid === undefined) return spawned
    this.#running = { child, group: new ProcessGroup(child, pid, this.#context.host) }
    this.#state = 'open'
    this.#listen(child)
    await spawned
  }

  send(message: JSONRPCMessage): Promise<void> {
    return new Promise((sent, failed) => this.#queue(message, { sent, failed }))
  }

  /** The same without a promise. */
  post(message: JSONRPCMessage, sender: Unsent, alone: boolean): void {
    this.#queue(message, sender, alone)
  }

  #queue(message: JSONRPCMessage, unsent: Unsent, alone = false): void {
    if (this.#state !== 'open') {
      unsent.failed(this.#notOpen())
      return
    }
    const line = `${JSON.stringify(message)}\n`
    if (this.#unsentBytes + line.length > STDIO_LIMITS.unsentBytes) {
      unsent.failed(new IoError(`"${this.#context.server}" does not read its input.`, this.#details('call')))
      return
    }
    this.#unsentBytes += line.length
    this.#senders.push(unsent)
    // Messages of one turn go out in few writes; the server can begin with the first ones while the others are made.
    const held = this.#outbox.push(line)
    if (alone || held === STDIO_LIMITS.messagesPerWrite) this.#flush()
    else if (held === 1) void soon.then(this.#flushLater)
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const wasOpen = this.#state === 'open'
    if (this.#state !== 'lost') this.#state = 'closed'
    this.#flush()
    await this.#running?.group.end()
    this.#release()
    if (wasOpen) this.onclose?.()
  }

  #spawn(): ChildProcess {
    const { host } = this.#context
    const env = childEnvironment(this.#entry, host)
    const windows = host.platform === 'win32'
    const command = windows
      ? resolveWindowsCommand(this.#entry.command, this.#entry.args, env, existsSync)
      : {
          file: findProgram(this.#entry.command, env, this.#entry.cwd),
          args: this.#entry.args,
          verbatim: false,
        }
    const options: SpawnOptions = {
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: !windows,
      windowsHide: true,
      windowsVerbatimArguments: command.verbatim,
      // argv[0] is the command as the entry has it, wherever it was found.
      ...(!windows && { argv0: this.#entry.command }),
      ...(this.#entry.cwd !== undefined && { cwd: this.#entry.cwd }),
    }
    watchdogOf(host).ready()
    try {
      return host.spawn(command.file, command.args, options)
    } catch (error) {
      throw this.#spawnError(error)
    }
  }

  #listen(child: ChildProcess): void {
    const lines = new LineSplitter({
      maxBytes: STDIO_LIMITS.lineBytes,
      chunkwise: true,
      onLine: (line) => this.#receive(line),
      onSkipped: (start, end) => this.#skipped(start, end),
    })
    const words = new LineSplitter({
      maxBytes: LOG_LIMITS.lineBytes,
      onLine: (line) => this.#note(line),
      onOverflow: (start) => this.#note(`${start} …`),
    })
    child.stdout?.on('data', (chunk: Buffer) => {
      if (this.#state === 'open') lines.push(chunk)
      if (chunk.length >= STDIO_LIMITS.turnBytes) yieldTurn(child.stdout)
    })
    child.stdout?.once('end', () => {
      // A server that ends right after its last answer may leave out the newline.
      if (this.#state === 'open') lines.end()
      this.#outputEnded(child)
    })
    child.stderr?.on('data', (chunk: Buffer) => words.push(chunk))
    child.stderr?.once('end', () => words.end())
    // A pipe that fails ends; the end handler decides what follows.
    child.stdout?.on('error', () => this.#outputEnded(child))
    child.stderr?.on('error', () => words.end())
    child.stdin?.on('error', (error) => this.#failSenders(error))
    // Later errors of the process object (a signal it could not deliver) are reported, not thrown.
    child.on('error', (error) => this.#context.log({ stream: 'transport', text: error.message }))
    child.once('exit', (code, signal) => this.#exited(child, code, signal))
  }

  #receive(line: string): void {
    if (line === '') return
    const messages = parseLine(line)
    if (messages === undefined) {
      // A copy: a part of the chunk would keep all of it.
      const text = Buffer.from(line.slice(0, LOG_LIMITS.lineBytes)).toString()
      this.#context.log({ stream: 'stdout', text })
      return
    }
    for (const message of messages) this.#deliver(message)
  }

  /** A line that is too long fails only the call that it responds to. */
  #skipped(start: string, end: string): void {
    const { server, log } = this.#context
    log({ stream: 'transport', text: `A line of more than ${STDIO_LIMITS.lineBytes} bytes was skipped.` })
    const answer = tooLargeAnswer({ start, end }, server, STDIO_LIMITS.lineBytes)
    if (answer) this.#deliver(answer)
    else log({ stream: 'stdout', text: start })
  }

  #deliver(message: JSONRPCMessage): void {
    try {
      this.onmessage?.(message)
    } catch (error) {
      this.onerror?.(
        new ParseError('A message could not be handled.', { ...this.#details('call'), cause: error }),
      )
    }
  }

  #note(line: string): void {
    if (line === '') return
    this.#tail.push(line)
    this.#context.log({ stream: 'stderr', text: line })
  }

  #outputEnded(child: ChildProcess): void {
    // Usually the exit follows at once and says more.
    this.#context.host.backgroundTimer(STDIO_LIMITS.outputEndMs, () => {
      if (child.exitCode === null && child.signalCode === null)
        this.#lose(
          new IoError(
            `"${this.#context.server}" closed its output and went on running.`,
            this.#details('call', 'The server can no longer answer; it is stopped.'),
          ),
        )
    })
  }

  #exited(child: ChildProcess, code: number | null, signal: NodeJS.Signals | null): void {
    const running = this.#running
    if (this.#state !== 'open' || running === undefined) return
    void running.group.sweep()
    let reported = false
    const report = () => {
      if (reported) return
      reported = true
      cancel()
      this.#lose(this.#exitError(code, signal))
    }
    // What it wrote before it died is still in the pipes, unless a process outside the group holds them open.
    const cancel = this.#context.host.backgroundTimer(STDIO_LIMITS.drainMs, report)
    child.once('close', report)
  }

  #lose(error: Error): void {
    if (this.#state !== 'open') return
    this.#state = 'lost'
    this.#failSenders(error)
    for (const fail of [...this.#refusals]) fail(error)
    // A caller that waits only for the end must not find a running child after it.
    const ended = this.#running?.group.end().then(() => this.#release())
    ended?.catch(() => {
      // end() does not throw; close() awaits it again.
    })
    this.onerror?.(error)
    this.onclose?.()
  }

  readonly #flushLater = (): void => this.#flush()

  #flush(): void {
    if (this.#outbox.length === 0) return
    const text = this.#outbox.join('')
    const senders = this.#senders
    const bytes = text.length
    this.#outbox = []
    this.#senders = []
    const input = this.#running?.child.stdin
    const settle = (error?: Error | null) => {
      this.#unsentBytes -= bytes
      if (error) this.#refuse(senders, error)
      else for (const sender of senders) sender.sent?.()
    }
    if (input?.writable === true) input.write(text, settle)
    else settle(this.#notOpen())
  }

  /** The write itself reports those whose lines are in the pipe; these have not got that far. */
  #failSenders(error: Error): void {
    const senders = this.#senders
    this.#unsentBytes -= this.#outbox.reduce((sum, line) => sum + line.length, 0)
    this.#outbox = []
    this.#senders = []
    this.#refuse(senders, error)
  }

  /** A pipe usually breaks because the process is ending: its exit follows at once and says more. */
  #refuse(senders: readonly Unsent[], error: Error): void {
    const fail = (why: Error) => {
      cancel()
      this.#refusals.delete(fail)
      const reason = why === error ? this.#writeError(error) : new IoError(why.message, this.#details('call'))
      for (const sender of senders) sender.failed(reason)
    }
    const known = error instanceof IoError || this.#state !== 'open' || senders.length === 0
    const cancel = known
      ? () => undefined
      : this.#context.host.awaitedTimer(STDIO_LIMITS.brokenInputMs, () => fail(error))
    if (known) fail(error)
    else this.#refusals.add(fail)
  }

  /** Nothing of the child may keep the program alive, not even a pipe that another process holds open. */
  #release(): void {
    const child = this.#running?.child
    child?.stdin?.destroy()
    child?.stdout?.destroy()
    child?.stderr?.destroy()
  }

  #details(stage: 'transport' | 'call', hint?: string) {
    return { server: this.#context.server, stage, ...(hint !== undefined && { hint }) }
  }

  #notOpen(): IoError {
    return new IoError(`"${this.#context.server}" is not running.`, this.#details('call'))
  }

  #writeError(error: Error): IoError {
    if (error instanceof IoError) return error
    return new IoError(`"${this.#context.server}" stopped reading its input.`, {
      ...this.#details('call'),
      cause: error,
    })
  }

  #exitError(code: number | null, signal: NodeJS.Signals | null): IoError {
    const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`
    const lines = this.#tail.lastLines(LOG_LIMITS.linesInError)
    const hint =
      lines === ''
        ? 'It wrote nothing to stderr.'
        : `Last stderr lines:\n${lines}${this.#startFolderNote(lines)}`
    return new IoError(`"${this.#context.server}" ${how}.`, this.#details('call', hint))
  }

  /** It looked for a file in its start folder, which was not the folder its author expected. */
  #startFolderNote(words: string): string {
    const { cwd } = this.#entry
    if (cwd === undefined || !words.includes(cwd) || !isInside(cwd, neutralFolder(this.#context.host)))
      return ''
    return '\nIt started in a neutral folder: give paths in full, name a `cwd`, or run `plugboard trust`.'
  }

  #spawnError(cause: unknown): InitError {
    // The start folder cannot be used, and the error says so.
    if (cause instanceof InitError) return cause
    const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
    const { command, cwd } = this.#entry
    const details = { server: this.#context.server, stage: 'transport' as const, cause }
    if (code === 'ENOENT' && cwd !== undefined && !existsSync(cwd))
      return new InitError(`The folder "${cwd}" does not exist.`, {
        ...details,
        hint: 'Correct `cwd` of this server.',
      })
    if (code === 'ENOENT' && /[\\/]/.test(command))
      return new InitError(`"${command}" does not exist.`, {
        ...details,
        hint: 'Correct `command` of this server.',
      })
    if (code === 'ENOENT')
      return new InitError(`"${command}" was not found on PATH.`, { ...details, hint: installHint(command) })
    if (code === 'EACCES')
      return new InitError(`"${command}" may not be executed.`, {
        ...details,
        hint: 'Make the file executable, or name the program that runs it as `command`.',
      })
    return new InitError(`"${command}" could not be started.`, details)
  }
}

function parseLine(line: string): JSONRPCMessage[] | undefined {
  const text = line.trimStart()
  if (!text.startsWith('{') && !text.startsWith('[')) return undefined
  try {
    return messagesIn(JSON.parse(text))
  } catch {
    // A banner may begin with a brace; what does not parse is logged as noise.
    return undefined
  }
}

const INSTALLERS: Readonly<Record<string, string>> = {
  npx: 'Install Node.js, which brings npx.',
  npm: 'Install Node.js, which brings npm.',
  node: 'Install Node.js.',
  uvx: 'Install uv, which brings uvx.',
  uv: 'Install uv.',
  python: 'Install Python, or use "python3".',
  python3: 'Install Python 3.',
  docker: 'Install Docker, and start it.',
  bunx: 'Install Bun, which brings bunx.',
  deno: 'Install Deno.',
}

/** Node reads a full pipe many times in one turn; other servers and clients would wait for all of it. */
function yieldTurn(stream: Readable | null): void {
  if (!stream || stream.destroyed) return
  stream.pause()
  setImmediate(() => stream.resume())
}

function installHint(command: string): string {
  const known = Object.hasOwn(INSTALLERS, basename(command)) ? INSTALLERS[basename(command)] : undefined
  return known ?? 'Install the program, or give its full path as `command`.'
}
