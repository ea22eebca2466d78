// app.ts: the conversation at a terminal: takes what the user sends, one message after the other, runs it and shows it. What
// is sent while something runs waits in a queue. Esc or Ctrl-C stops what runs; Ctrl-C twice leaves.
import { type Message, type Model, type UserInterface, UserPrompts, userMessage } from '@plugboard/agent'
import { type Board, type BoardOptions, Cancelled, openBoard } from '@plugboard/core'
import { type Configuration, stateFolder } from '@plugboard/core/config'
import { isPlugboardError } from '@plugboard/core/errors'
import { createColors } from '../colors.ts'
import { printConfigEvents } from '../config-events.ts'
import type { Invocation } from '../context.ts'
import { EXIT } from '../output.ts'
import { timeoutOption } from '../shared/timeouts.ts'
import { ring } from '../streams.ts'
import { type ImageTerminal, imageRows, imageTerminal, protocolOf } from '../terminal/inline-image.ts'
import { shownText, wrap, wrapText } from '../terminal/layout.ts'
import { tracer } from '../trace-line.ts'
import { reviewPlan, userAtTerminal } from './chat-prompts.ts'
import { completions } from './completion-candidates.ts'
import { History } from './history.ts'
import { fromPrompt, withMentions } from './mentions.ts'
import type { PlanReview } from './plan-mode.ts'
import type { Screen } from './screen.ts'
import { IN_CHAT, ServerNotices } from './server-notices.ts'
import type { OpenedChat, Session } from './session.ts'
import { runShell } from './shell-command.ts'
import { COMMANDS, type CommandContext, commandWords, runCommand } from './slash-commands.ts'
import { statusLine } from './status-line.ts'
import { Transcript } from './transcript.ts'

export interface AppOptions {
  readonly screen: Screen
  readonly invocation: Invocation
  readonly model: Model
  /** Another model by its name. */
  chooseModel(name: string): Model
  readonly configuration: Configuration
  /** Rules for this run. */
  readonly rules: Partial<Pick<BoardOptions, 'rules'>>
  /** What the user has already asked on the command line. */
  readonly question?: string | undefined
  /** Lines to show at the start. */
  readonly notes: readonly string[]
  session(opened: OpenedChat, userPrompts: UserPrompts, review: PlanReview): Session
}

/** A user who has waited this long may look elsewhere. */
const RING_MS = 5000
const AGAIN_MS = 3000
const FINISH_MS = 2000

export async function runApp(options: AppOptions): Promise<number> {
  const { configuration } = options
  const app = new App(options)
  app.start()
  let board: Board | undefined
  try {
    const { invocation, model, rules } = options
    const timeoutMs = timeoutOption(invocation)
    board = await openBoard({
      host: invocation.host,
      configuration,
      watch: true,
      ...(timeoutMs !== undefined && { timeoutMs }),
      ...app.traced(),
      ...app.userPrompts.ports(model),
      ...rules,
    })
    return await app.run({ board, configuration, signal: app.left })
  } finally {
    app.stop()
    await board?.close()
  }
}

class App {
  readonly #options: AppOptions
  readonly #history: History
  readonly #screen: Screen
  readonly #leave = new AbortController()
  readonly userPrompts: UserPrompts
  #transcript: Transcript | undefined
  #opened: OpenedChat | undefined
  #session: Session | undefined
  #queue: string[] = []
  #running: AbortController | undefined
  #work: Promise<void> = Promise.resolve()
  /** What the user did beside the conversation, for the next message. */
  #aside: string[] = []
  #warnedAt = 0
  #exit: number = EXIT.done
  #images: Promise<ImageTerminal | undefined> | undefined
  readonly #onInterrupt = () => this.#interrupt()
  readonly #onTerm = () => this.#end(EXIT.interrupted)

  constructor(options: AppOptions) {
    const { host } = options.invocation
    this.#options = options
    this.#history = new History(stateFolder(host))
    this.#screen = options.screen
    this.#screen.use({
      history: this.#history.lines,
      complete: (before) => this.#complete(before),
      live: (columns, rows) => this.#live(columns, rows),
      status: (columns) => statusLine(this.#session, options.model, this.#running !== undefined, columns),
      isMoving: () => this.#transcript?.isMoving ?? false,
      onSubmit: (text) => this.#submit(text),
      onInterrupt: (key) => (key === 'escape' ? this.#escape() : this.#interrupt()),
      onEnd: () => this.#end(EXIT.done),
      onKey: (key) => {
        if (key.ctrl && key.name === 'o') this.#transcript?.open()
        if (key.ctrl && key.name === 'l') this.#screen.invalidate()
      },
    })
    this.userPrompts = new UserPrompts(this.#user())
  }

  /** `--trace` prints between the rows of the conversation. */
  traced(): Pick<BoardOptions, 'onMessage'> {
    const { invocation } = this.#options
    const onMessage = invocation.flag('trace')
      ? tracer(invocation.output, invocation.host, (line) => this.#print(line))
      : invocation.onMessage
    return onMessage ? { onMessage } : {}
  }

  get left(): AbortSignal {
    return this.#leave.signal
  }

  start(): void {
    const { output } = this.#options.invocation
    const { bold, dim } = output.color
    process.on('SIGINT', this.#onInterrupt)
    process.on('SIGTERM', this.#onTerm)
    process.on('SIGHUP', this.#onTerm)
    const help = `· ${shownText(this.#options.model.id)} · /help lists the commands, Ctrl-D exits`
    const { columns } = this.#screen
    this.#screen.print(
      ...wrap(
        [
          { text: 'plugboard', paint: bold },
          { text: ` ${help}`, paint: dim },
        ],
        { columns },
      ),
    )
  }

  async run(opened: OpenedChat): Promise<number> {
    const { invocation, notes, question } = this.#options
    const { board, configuration } = opened
    const { color } = invocation.output
    this.#opened = opened
    this.#transcript = new Transcript({
      color,
      now: invocation.host.now,
      root: configuration.place.root,
      columns: () => this.#screen.columns,
      print: (rows) => this.#screen.print(...rows),
      image: (data, columns) => this.#image(data, columns),
      isReadOnly: (name) =>
        board
          .tools()
          .find((tool) => tool.name === name)
          ?.isReadOnly() ?? false,
    })
    this.#session = this.#options.session(opened, this.userPrompts, (plan, signal) =>
      this.#reviewPlan(plan, signal),
    )
    // Colours of their own would not survive the wrapping.
    const events = { quiet: invocation.output.quiet, errorColor: createColors(false) }
    const stopPrinting = printConfigEvents(board, events, (line) => this.#print(line, color.yellow))
    const notices = new ServerNotices(board, IN_CHAT)
    const tell = () => {
      const notice = notices.next()
      if (notice !== undefined) this.#print(`! ${notice}`, color.yellow)
    }
    for (const note of notes) this.#print(note, color.dim)
    const stopNotices = board.on('state', () => setImmediate(tell))
    tell()
    // Servers that fail are named when they do; the prompt does not wait for any.
    board.ready({ signal: this.left }).then(tell, () => undefined)
    if (question !== undefined) this.#queue.unshift(question)
    this.#pump()
    await new Promise<void>((done) => {
      if (this.left.aborted) done()
      else this.left.addEventListener('abort', () => done(), { once: true })
    })
    this.#running?.abort(new Cancelled())
    await Promise.race([this.#work, new Promise((done) => setTimeout(done, FINISH_MS).unref())])
    stopPrinting()
    stopNotices()
    await this.#session.close()
    return this.#exit
  }

  stop(): void {
    this.#screen.stop()
    process.off('SIGINT', this.#onInterrupt)
    process.off('SIGTERM', this.#onTerm)
    process.off('SIGHUP', this.#onTerm)
  }

  #user(): UserInterface {
    const { output, host } = this.#options.invocation
    return userAtTerminal({ host, color: output.color, aside: (work, signal) => this.#ask(work, signal) })
  }

  /** A question has the terminal for itself; its time is not a call's. */
  async #ask<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { now } = this.#options.invocation.host
    const began = now()
    ring()
    try {
      return await this.#screen.suspend(work, signal)
    } finally {
      this.#transcript?.asked(now() - began)
    }
  }

  async #image(data: string, columns: number): Promise<readonly string[] | undefined> {
    const { env } = this.#options.invocation.host
    // The terminal may have to be asked, and answers on the keyboard.
    this.#images ??=
      protocolOf(env) === undefined ? this.#screen.suspend(() => imageTerminal(env)) : imageTerminal(env)
    const terminal = await this.#images
    return terminal && (await imageRows(data, terminal, columns))
  }

  #reviewPlan(plan: string, signal: AbortSignal): Promise<boolean> {
    return this.#ask(() => reviewPlan(plan, this.#options.invocation.output.color, signal), signal)
  }

  #submit(text: string): void {
    const sent = text.trim()
    this.#history.add(sent)
    this.#screen.editor.setHistory(this.#history.lines)
    if (sent === '/exit' || sent === '/quit') {
      this.#end(EXIT.done)
      return
    }
    this.#queue.push(sent)
    this.#pump()
  }

  #escape(): void {
    if (this.#running) this.#stopRunning()
  }

  /** The first Ctrl-C stops or clears, the second one leaves. */
  #interrupt(): void {
    const { editor } = this.#screen
    if (this.#running) {
      if (this.#running.signal.aborted) {
        this.#end(EXIT.interrupted)
        return
      }
      this.#stopRunning()
      return
    }
    if (editor.text !== '') {
      editor.set('')
      this.#screen.invalidate()
      return
    }
    const now = Date.now()
    if (now - this.#warnedAt < AGAIN_MS) {
      this.#end(EXIT.interrupted)
      return
    }
    this.#warnedAt = now
    this.#print('Press Ctrl-C again to exit.', this.#options.invocation.output.color.dim)
  }

  /** What waits goes back to the editor: nothing runs that the user may no longer want, and nothing is lost. */
  #stopRunning(): void {
    const { editor } = this.#screen
    this.#running?.abort(new Cancelled())
    if (this.#queue.length > 0) {
      const waiting = this.#queue.splice(0).join('\n')
      editor.set(editor.text === '' ? waiting : `${waiting}\n${editor.text}`)
    }
    this.#screen.invalidate()
  }

  #end(code: number): void {
    this.#exit = code
    this.#leave.abort(new Cancelled())
  }

  /** Runs what waits, one after the other. */
  #pump(): void {
    this.#screen.invalidate()
    if (this.#running || !this.#opened || this.left.aborted) return
    const text = this.#queue.shift()
    if (text === undefined) return
    const running = new AbortController()
    this.#running = running
    const began = Date.now()
    this.#screen.print('')
    this.#print(text, undefined, '› ')
    this.#work = this.#handle(text, running.signal)
      .catch((error: unknown) => this.#failed(error))
      .finally(() => {
        this.#running = undefined
        if (Date.now() - began > RING_MS) ring()
        this.#pump()
      })
  }

  async #handle(text: string, signal: AbortSignal): Promise<void> {
    const { board, configuration } = this.#context()
    const { root } = configuration.place
    const [command = ''] = text.split(/\s/, 1)
    if (text.startsWith('!')) return await this.#shell(text.slice(1).trim(), root, signal)
    if (command.startsWith('/mcp__')) return await this.#say(await fromPrompt(board, text, signal), signal)
    if (/^\/[a-z-]+$/.test(command)) return await runCommand(this.#context(), text, signal)
    await this.#say([await withMentions(board, text, root, signal)], signal)
  }

  async #say(messages: readonly Message[], signal: AbortSignal): Promise<void> {
    const beside = this.#aside.splice(0).map((text) => userMessage(text))
    for await (const event of this.#context().session.say([...beside, ...messages], signal)) {
      await this.#transcript?.show(event)
      this.#screen.invalidate()
    }
  }

  async #shell(command: string, root: string, signal: AbortSignal): Promise<void> {
    const { dim, yellow } = this.#options.invocation.output.color
    if (command === '') return this.#print('Which command? !COMMAND')
    let rest = ''
    const { output, code } = await runShell(
      command,
      root,
      (piece) => {
        const lines = (rest + piece).split('\n')
        rest = lines.pop() ?? ''
        for (const line of lines) this.#print(line, undefined, '  ')
      },
      signal,
    )
    if (rest !== '') this.#print(rest, undefined, '  ')
    if (code !== 0) this.#print(code === undefined ? 'Stopped.' : `It ended with ${code}.`, yellow)
    this.#print('The next message tells the model.', dim)
    this.#aside.push(
      `I ran \`${command}\`, which ended with ${code ?? 'an interrupt'} and printed:\n${output}`,
    )
  }

  #failed(error: unknown): void {
    const { red, dim, yellow } = this.#options.invocation.output.color
    if (error instanceof Cancelled) {
      this.#print('Stopped.', yellow)
      return
    }
    if (!isPlugboardError(error)) {
      this.#print(`error: ${error instanceof Error ? error.message : String(error)}`, red)
      return
    }
    this.#print(`error: ${error.message}`, red)
    if (error.shellHint) this.#print(`  ${error.shellHint}`, dim)
  }

  #context(): CommandContext {
    const { invocation, chooseModel } = this.#options
    const [opened, session, transcript] = [this.#opened, this.#session, this.#transcript]
    if (!opened || !session || !transcript) throw new Cancelled()
    return {
      invocation,
      ...opened,
      session,
      transcript,
      chooseModel,
      columns: () => this.#screen.columns,
      print: (text, paint) => this.#print(text, paint),
      printRows: (rows) => this.#screen.print(...rows),
      ask: (work) => this.#ask(work),
      send: (text) => {
        this.#queue.unshift(text)
      },
    }
  }

  /** Text in rows that fit; its own colours are kept, and others' codes are made visible. */
  #print(text: string, paint?: (text: string) => string, first = ''): void {
    const { cyan } = this.#options.invocation.output.color
    const mark = first === '› ' ? cyan(first) : first
    const next = ' '.repeat(first.length)
    this.#screen.print(...wrapText(text, { columns: this.#screen.columns, first: mark, next }, paint))
  }

  #live(columns: number, rows: number): readonly string[] {
    const { dim } = this.#options.invocation.output.color
    const waiting = this.#queue
      .slice(0, 5)
      .flatMap((text) =>
        wrap([{ text: `queued: ${shownText(text)}`, paint: dim }], { columns, next: '  ' }).slice(0, 2),
      )
    const more = this.#queue.length > 5 ? [dim(`… and ${this.#queue.length - 5} more`)] : []
    const moving = this.#transcript?.live(columns, Math.max(1, rows - waiting.length - more.length)) ?? []
    return [...moving, ...waiting, ...more]
  }

  async #complete(before: string) {
    const opened = this.#opened
    if (!opened) return { found: [], part: '' }
    const { board, configuration } = opened
    return await completions(
      {
        board,
        commands: COMMANDS,
        root: configuration.place.root,
        words: (command) => commandWords(command, board),
      },
      before,
    )
  }
}
