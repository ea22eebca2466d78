// run-command.ts: has the resident process run a command's verb. The smallest client there is: one connection, one message, and
// what comes back is written as it is. Whatever is unusual ends here with a reason, and the command runs its verb itself.
import { RESIDENT_LIMITS } from '../limits.ts'
import { PROTOCOL } from '../protocol.ts'
import { placeFault, type ResidentPlace } from '../socket-paths.ts'
import { type LightSocket, lightConnect } from './light-socket.ts'
import type { LostCall } from './lost-call.ts'
import { readToken } from './read-token.ts'

export interface RunCommandOptions {
  readonly place: ResidentPlace
  readonly version: string
  readonly argv: readonly string[]
  readonly cwd: string
  readonly env: Readonly<Record<string, string | undefined>>
  write(fd: 1 | 2, bytes: Buffer): void
}

export type RanCommand =
  | { readonly kind: 'exit'; readonly code: number }
  /** The command runs its verb itself. */
  | { readonly kind: 'none' }
  /** The process ended during a call that may not be sent twice. */
  | { readonly kind: 'lost'; readonly call: LostCall }

export interface RunningCommand {
  readonly ended: Promise<RanCommand>
  /** The user's Ctrl-C; the verb ends by itself. */
  interrupt(): void
}

const NONE: RanCommand = { kind: 'none' }
const NEWLINE = 10

export function runCommand(options: RunCommandOptions): RunningCommand | undefined {
  const { place, version, argv, cwd, env } = options
  if (placeFault(place) !== undefined) return undefined
  // A process writes its token before it listens; one that took over since refuses an old one.
  const token = readToken(place)
  if (token === undefined) return undefined
  const answers = new Answers(options)
  const socket = lightConnect(place.socket, answers)
  const params = { protocol: PROTOCOL, version, token, sentAt: Date.now(), argv, cwd, env }
  socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'board/run', params })}\n`)
  return {
    ended: answers.ended(socket),
    interrupt: () => socket.write('{"jsonrpc":"2.0","method":"notifications/cancelled"}\n'),
  }
}

/** What the process answers, until it said how the verb ended. */
class Answers {
  readonly #write: RunCommandOptions['write']
  #done: (ran: RanCommand) => void = () => undefined
  #silence: NodeJS.Timeout | undefined
  /** The beginning of a line whose end has not come. */
  #begun: Buffer[] = []
  #lost: RanCommand = NONE

  constructor({ write }: RunCommandOptions) {
    this.#write = write
  }

  ended(socket: LightSocket): Promise<RanCommand> {
    // A process that was stopped does not begin a command that is this old.
    this.#silence = setTimeout(() => socket.destroy(), RESIDENT_LIMITS.helloMs)
    return new Promise((done) => {
      this.#done = done
    })
  }

  closed(): void {
    clearTimeout(this.#silence)
    this.#done(this.#lost)
  }

  data(chunk: Buffer): void {
    clearTimeout(this.#silence)
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, from)) {
      const line = Buffer.concat([...this.#begun, chunk.subarray(from, at)])
      this.#begun = []
      this.#take(line.toString('utf8'))
      from = at + 1
    }
    if (from < chunk.length) this.#begun.push(chunk.subarray(from))
  }

  /** The process is the user's own and of this version: its messages are what protocol.ts says. */
  #take(line: string): void {
    const { method, params, result } = JSON.parse(line)
    if (method === 'board/output') {
      const { fd, text, base64 } = params
      this.#write(fd, base64 === undefined ? Buffer.from(text) : Buffer.from(base64, 'base64'))
    } else if (method === 'board/calling') {
      const { repeatable, ...call } = params
      this.#lost = repeatable ? NONE : { kind: 'lost', call }
    } else if (result) this.#done(result.refused === undefined ? { kind: 'exit', code: result.exit } : NONE)
  }
}
