// repl.ts: the conversation at a terminal: reads a line, runs it, shows the result. Ctrl-C stops what is
// running; a second one, or two at an empty line, leaves.
import { type Message, type Model, UserPrompts } from '@plugboard/agent'
import { type Board, type BoardOptions, Cancelled, openBoard } from '@plugboard/core'
import { stateFolder } from '@plugboard/core/config'
import { isPlugboardError } from '@plugboard/core/errors'
import { printConfigEvents } from '../config-events.ts'
import type { Invocation } from '../context.ts'
import { diagnosticText, EXIT, reportError, safe, table } from '../output.ts'
import { rowsAsText } from '../servers.ts'
import { connectedText, reconnect } from '../shared/reconnect.ts'
import { rowsOf } from '../shared/server-rows.ts'
import { timeoutOption } from '../shared/timeouts.ts'
import { columnsOf, screenRows, write } from '../streams.ts'
import { configurationToStart, type OpenedLocalBoard } from '../with-board.ts'
import { History } from './history.ts'
import { Keyboard } from './keyboard.ts'
import { completions, fromPrompt, withMentions } from './mentions.ts'
import { Renderer } from './renderer.ts'
import { ServerNotices } from './server-notices.ts'
import type { Session } from './session.ts'
import { userAsked } from './user-prompts.ts'

export interface ReplOptions {
  readonly invocation: Invocation
  readonly model: Model
  /** Rules for this run. */
  readonly rules: Partial<Pick<BoardOptions, 'rules'>>
  session(opened: OpenedLocalBoard, userPrompts: UserPrompts): Session
}

const COMMANDS: Readonly<Record<string, string>> = {
  '/help': 'list the commands',
  '/mcp': 'list every server and its state',
  '/reconnect': 'reconnect a server: /reconnect NAME',
  '/tools': 'list the tools and the tokens they take',
  '/clear': 'clear the conversation',
  '/exit': 'exit (also Ctrl-D)',
}
const BOARD_MS = 5000
const TOOLS_SHOWN = 200
/** Servers that fail at once are named in the banner; the prompt does not wait for the others. */
const START_MS = 700

export async function runRepl(options: ReplOptions): Promise<number> {
  const { invocation, model, rules } = options
  const { output, host } = invocation
  const configuration = await configurationToStart(invocation)
  const keyboard = new Keyboard()
  const renderer = new Renderer({
    color: output.color,
    now: host.now,
    columns: () => columnsOf(1),
    write: (text) => write(1, text),
  })
  const userPrompts = new UserPrompts(userAt(keyboard, renderer, output.color))
  const timeoutMs = timeoutOption(invocation)
  const board = await openBoard({
    host,
    configuration,
    watch: true,
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...userPrompts.ports(model),
    ...rules,
  })
  const stopPrinting = printConfigEvents(board, output, (line) =>
    keyboard.aside(() => renderer.aside(() => write(2, `${line}\n`))),
  )
  const leave = new AbortController()
  const onTerm = () => leave.abort(new Cancelled())
  process.on('SIGTERM', onTerm)
  process.on('SIGHUP', onTerm)
  try {
    const session = options.session({ board, configuration, signal: leave.signal }, userPrompts)
    const { bold, dim } = output.color
    write(1, `${bold('plugboard')} ${dim(`· ${safe(model.id)} · /help lists the commands, Ctrl-D exits`)}\n`)
    // From here on keys are ours: what is typed while servers start is the first line.
    const unwatch = keyboard.watch(onTerm)
    await board.ready({ signal: leave.signal, timeoutMs: START_MS }).catch(() => undefined)
    unwatch()
    const repl = new Repl({ invocation, board, session, keyboard, renderer, left: leave.signal })
    return await repl.run()
  } finally {
    stopPrinting()
    renderer.stop()
    keyboard.close()
    process.off('SIGTERM', onTerm)
    process.off('SIGHUP', onTerm)
    await board.close()
  }
}

function userAt(keyboard: Keyboard, renderer: Renderer, color: Invocation['output']['color']) {
  return userAsked({
    color,
    size: () => ({ columns: columnsOf(1), rows: screenRows(1) }),
    show: (text) => {
      renderer.hide(true)
      write(1, `${text}\n`)
    },
    line: async (prompt, signal) => {
      renderer.hide(true)
      const line = await keyboard.line(prompt, { signal, fresh: true })
      // The question ends its own line before anything moves below it.
      if (line.kind !== 'line') write(1, '\n')
      renderer.hide(false)
      return line.kind === 'line' ? line.text : undefined
    },
  })
}

interface LoopOptions {
  readonly invocation: Invocation
  readonly board: Board
  readonly session: Session
  readonly keyboard: Keyboard
  readonly renderer: Renderer
  readonly left: AbortSignal
}

class Repl {
  readonly #on: LoopOptions
  readonly #history: History

  constructor(options: LoopOptions) {
    this.#on = options
    this.#history = new History(stateFolder(options.invocation.host))
  }

  async run(): Promise<number> {
    const { keyboard, board, left } = this.#on
    const { cyan, dim, yellow } = this.#on.invocation.output.color
    const troubles = new ServerNotices(board)
    let warned = false
    while (!left.aborted) {
      const trouble = troubles.next()
      if (trouble !== undefined) this.#print(yellow(`! ${trouble}`))
      const line = await keyboard.line(`${cyan('›')} `, {
        history: this.#history.lines,
        complete: (typed) => completions(board, typed, Object.keys(COMMANDS)),
        signal: left,
      })
      if (line.kind === 'end') break
      if (line.kind === 'interrupt') {
        write(1, '\n')
        if (line.empty && warned) return EXIT.interrupted
        warned = line.empty
        if (line.empty) write(1, `${dim('Press Ctrl-C again to exit.')}\n`)
        continue
      }
      warned = false
      const text = line.text.trim()
      if (text === '') continue
      this.#history.add(text)
      if (text === '/exit' || text === '/quit') break
      if (!(await this.#interruptible((signal) => this.#handle(text, signal)))) return EXIT.interrupted
    }
    write(1, '\n')
    return EXIT.done
  }

  /** False when the user wants to leave at once. */
  async #interruptible(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    const { keyboard, renderer, left, invocation } = this.#on
    const stop = new AbortController()
    let interrupt: () => void = () => undefined
    const leaving = new Promise<false>((resolve) => {
      interrupt = () => {
        if (stop.signal.aborted) resolve(false)
        else stop.abort(new Cancelled())
      }
    })
    left.addEventListener('abort', interrupt, { once: true })
    const unwatch = keyboard.watch(interrupt)
    const worked = work(stop.signal).then(
      () => true as const,
      (error: unknown) => {
        renderer.stop()
        if (!isPlugboardError(error)) throw error
        reportError(invocation.output, error)
        return true as const
      },
    )
    try {
      return await Promise.race([worked, leaving])
    } finally {
      left.removeEventListener('abort', interrupt)
      unwatch()
    }
  }

  async #handle(text: string, signal: AbortSignal): Promise<void> {
    const { board, session } = this.#on
    const [command = ''] = text.split(/\s/, 1)
    if (command.startsWith('/mcp__')) return await this.#say(await fromPrompt(board, text, signal), signal)
    switch (command) {
      case '/help':
        return this.#print(table(Object.entries(COMMANDS).map(([name, what]) => [`  ${name}`, what])), HELP)
      case '/mcp':
        await board.ready({ signal, timeoutMs: BOARD_MS })
        return this.#print(rowsAsText(rowsOf(board), this.#on.invocation.output.color), ...this.#faults())
      case '/reconnect':
        return await this.#reconnect(text, signal)
      case '/tools':
        await board.ready({ signal, timeoutMs: BOARD_MS })
        return this.#print(this.#tools())
      case '/clear':
        session.forget()
        return this.#print('Forgotten.')
    }
    if (/^\/[a-z-]+$/.test(command))
      return this.#print(`There is no command ${safe(command)}; /help lists the commands.`)
    await this.#say([await withMentions(board, text, signal)], signal)
  }

  async #reconnect(text: string, signal: AbortSignal): Promise<void> {
    const { board, invocation } = this.#on
    const [, name] = text.trim().split(/\s+/)
    if (name === undefined) return this.#print('Which server? /reconnect NAME; /mcp lists them.')
    this.#print(connectedText(await reconnect(board, name, signal), invocation.output.color))
  }

  async #say(messages: readonly Message[], signal: AbortSignal): Promise<void> {
    const { session, renderer } = this.#on
    for await (const event of session.say(messages, signal)) renderer.show(event)
  }

  #faults(): string[] {
    const { board, invocation } = this.#on
    return board.configurationFaults().map((fault) => diagnosticText(fault, invocation.output.color))
  }

  #tools(): string {
    const { board, invocation } = this.#on
    const { bold, dim } = invocation.output.color
    const tools = board.tools()
    const { tokens, servers } = board.toolCosts()
    const rows = tools
      .slice(0, TOOLS_SHOWN)
      .map((tool) => [
        `  ${bold(safe(tool.name))}`,
        dim(safe(tool.description.split('\n')[0] ?? '').slice(0, 80)),
      ])
    const costs = servers.map(({ server, tokens: cost }) => `${safe(server)} ${cost}`).join(', ')
    const more = tools.length > TOOLS_SHOWN ? `\n  … and ${tools.length - TOOLS_SHOWN} more` : ''
    return `${table(rows)}${more}\n${dim(`${tools.length} tools, about ${tokens} tokens (${costs})`)}`
  }

  #print(...texts: readonly string[]): void {
    for (const text of texts) write(1, `${text}\n`)
  }
}

const HELP =
  '  /mcp__server__prompt ARGS  a prompt of a server (Tab completes)\n  @server:uri                a resource of a server, in any sentence (Tab completes)'
