// command-session.ts: a command whose verb runs in this process. The command sends its words, folder and environment, and gets
// what the verb writes and its exit code: one message each way, and no board or verb is loaded for it. What a verb is, the
// command line knows: `runCommand` comes from there.
import type { Socket } from 'node:net'
import type { Board, BoardBehaviour, Host } from '@plugboard/core'
import type { Configuration, LoadOptions } from '@plugboard/core/config/load'
import { Cancelled } from '@plugboard/core/errors'
import { isObject } from '@plugboard/core/json'
import { LineSplitter } from '@plugboard/core/text/line-splitter'
import type { Boards } from './boards.ts'
import type { LostCall } from './client/lost-call.ts'
import { RESIDENT_LIMITS } from './limits.ts'
import { checked, command } from './params.ts'
import { type CommandResult, PROTOCOL } from './protocol.ts'
import { requireToken } from './token.ts'

/** A command as it was typed, and where. */
export interface Command {
  readonly argv: readonly string[]
  readonly cwd: string
  readonly host: Host
}

/** What a verb uses of this process, and how its output reaches the command. */
export interface CommandSite {
  /** Aborted by the command's Ctrl-C, or its end. */
  readonly signal: AbortSignal
  write(fd: 1 | 2, bytes: Buffer): void
  calling(call: LostCall & { readonly repeatable: boolean }): void
  load(options: LoadOptions): Promise<Configuration>
  open(configuration: Configuration, behaviour: BoardBehaviour): Promise<Board>
  /** Closes the board; the process waits for it before it ends, the command does not. */
  release(board: Board): void
}

/** Runs one verb; resolves with its exit code, or with why the command has to run it itself. Nothing was written then. */
export type RunCommand = (command: Command, site: CommandSite) => Promise<CommandResult>

export interface CommandHost {
  readonly token: string
  readonly version: string
  readonly run: RunCommand
  boards(): Promise<Boards>
  hostOf(params: { readonly env: Readonly<Record<string, string>> }): Host
}

/** Serves until the verb has ended or the command left. */
export async function serveCommand(socket: Socket, given: unknown, host: CommandHost): Promise<void> {
  const { token, protocol, version, sentAt, argv, cwd, env } = checked('board/run', command, given)
  requireToken(token, host.token)
  const send = (message: object) => {
    if (socket.writable) socket.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
    // A command that does not read must not fill the memory of everybody's board.
    if (socket.writableLength > RESIDENT_LIMITS.unreadBytes) socket.destroy()
  }
  // A verb that takes longer says so: the command then waits for its end.
  const taken = setTimeout(() => send({ method: 'board/running', params: {} }), RESIDENT_LIMITS.runningMs)
  try {
    const refused = refusal({ protocol, version, sentAt }, host)
    const result = refused ?? (await served(socket, { argv, cwd, env }, host, send))
    send({ id: 0, result })
    socket.end()
  } finally {
    clearTimeout(taken)
  }
}

function refusal(
  { protocol, version, sentAt }: { protocol: number; version: string; sentAt: number },
  host: CommandHost,
): CommandResult | undefined {
  if (protocol !== PROTOCOL || version !== host.version) return { refused: 'it is of another version' }
  // This process was stopped, or the machine slept: the command does not wait any more, and runs its verb itself.
  if (Date.now() - sentAt > RESIDENT_LIMITS.lateMs) return { refused: 'it was asked too long ago' }
  return undefined
}

async function served(
  socket: Socket,
  { argv, cwd, env }: { argv: readonly string[]; cwd: string; env: Readonly<Record<string, string>> },
  host: CommandHost,
  send: (message: object) => void,
): Promise<CommandResult> {
  const boards = await host.boards()
  const other = boards.differingVariable(env)
  if (other !== undefined) return { refused: `${other} differs from that of the running process` }
  return await host.run(
    { argv, cwd, host: host.hostOf({ env }) },
    {
      signal: signalOf(socket),
      // One message for what is written in one go.
      write: (fd, bytes) => {
        cork(socket)
        const text = bytes.toString('utf8')
        const isText = Buffer.byteLength(text) === bytes.length && Buffer.from(text).equals(bytes)
        send({
          method: 'board/output',
          params: isText ? { fd, text } : { fd, base64: bytes.toString('base64') },
        })
      },
      calling: (call) => send({ method: 'board/calling', params: call }),
      load: (options) => boards.load(options),
      open: (configuration, behaviour) => boards.openWith(configuration, behaviour),
      release: (board) => boards.release(board),
    },
  )
}

function cork(socket: Socket): void {
  if (socket.writableCorked > 0) return
  socket.cork()
  setImmediate(() => socket.uncork())
}

/** Aborted when the command says so, and when it is gone. */
function signalOf(socket: Socket): AbortSignal {
  const controller = new AbortController()
  const abort = () => controller.abort(new Cancelled('Interrupted.'))
  const lines = new LineSplitter({
    maxBytes: RESIDENT_LIMITS.messageBytes,
    onLine: (line) => {
      if (methodOf(line) === 'notifications/cancelled') abort()
    },
    onOverflow: () => socket.destroy(),
  })
  socket.on('data', (chunk: Buffer) => lines.push(chunk))
  socket.once('end', abort)
  socket.once('close', abort)
  socket.resume()
  return controller.signal
}

function methodOf(line: string): unknown {
  try {
    const message: unknown = JSON.parse(line)
    return isObject(message) ? message.method : undefined
  } catch {
    // Not ours.
    return undefined
  }
}
