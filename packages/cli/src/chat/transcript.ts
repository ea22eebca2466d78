// transcript.ts: the events of a run as rows: those that stay, given to `print`, and those that move below them: the answer
// that is arriving, the calls that run with their progress, a countdown.
import type { AgentEvent, ContentBlock } from '@plugboard/agent'
import type { DiffLine } from '@plugboard/core/text/line-diff'
import type { Colors } from '../colors.ts'
import { fit, width, wrapText } from '../terminal/layout.ts'
import { barOf } from '../terminal/progress.ts'
import { EditHistory, type FileEdit, fileEditOf, isJournaled, patchLines } from './file-edits.ts'
import { Markdown } from './markdown.ts'
import { endText, retryReason } from './print.ts'
import { callRows, diffRows, duration, foldedRows, openRows, type ResultView } from './tool-call-view.ts'

export interface TranscriptOptions {
  readonly color: Colors
  readonly now: () => number
  /** The project, for the difference that a call makes to a file. */
  readonly root: string
  readonly columns: () => number
  readonly print: (rows: readonly string[]) => void
  /** A picture as rows, where the terminal can show it. */
  readonly image?: (data: string, columns: number) => Promise<readonly string[] | undefined>
  /** Whether a tool only reads; such a call changes no file. */
  readonly isReadOnly: (tool: string) => boolean
}

interface Running {
  readonly title: string
  readonly began: number
  /** Time the user took to answer questions meanwhile. */
  asked: number
  readonly edit?: FileEdit | undefined
  /** What `apply_patch` of the built-in server changes. */
  readonly patch?: readonly DiffLine[] | undefined
  progress?: {
    readonly done: number
    readonly total?: number | undefined
    readonly message?: string | undefined
  }
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const
const FRAME_MS = 100
const BAR = 16
/** Columns below which the bar has half its width. */
const NARROW = 60
/** Columns that a title keeps. */
const TITLE = 12
const SHOWN = 8
const KEPT_RESULTS = 100
const THOUGHT_ROWS = 4

export class Transcript {
  readonly #options: TranscriptOptions
  readonly #markdown: Markdown
  readonly #running = new Map<string, Running>()
  readonly #subs = new Map<string, string>()
  readonly edits = new EditHistory()
  #waiting: { readonly since: number; asked: number } | undefined
  #thinking = ''
  #retry: { readonly at: number; readonly text: string } | undefined
  #results: ResultView[] = []
  /** Which result the next Ctrl-O opens, counted from the newest. */
  #opened = 0

  constructor(options: TranscriptOptions) {
    this.#options = options
    this.#markdown = new Markdown(options.color)
  }

  /** Something on it changes with time. */
  get isMoving(): boolean {
    return this.#waiting !== undefined || this.#running.size > 0 || this.#retry !== undefined
  }

  /** Pictures take a moment; the next event waits for them. */
  async show(event: AgentEvent): Promise<void> {
    this.#show(event)
    if (event.type === 'tool-end') await this.#images(event.content)
  }

  #show(event: AgentEvent): void {
    const { now, color } = this.#options
    if (event.type !== 'retry' && event.type !== 'usage') this.#retry = undefined
    switch (event.type) {
      case 'turn':
        this.#waiting = { since: now(), asked: 0 }
        return
      case 'thinking':
        this.#thinking += event.text
        return
      case 'text':
        this.#endThinking()
        this.#waiting = undefined
        this.#print(this.#markdown.push(event.text, this.#options.columns()))
        return
      case 'tool-start':
        this.#endText()
        this.#start(event)
        return
      case 'tool-progress': {
        const running = this.#running.get(event.id)
        if (running) running.progress = { done: event.progress, total: event.total, message: event.message }
        return
      }
      case 'tool-end':
        this.#end(event)
        return
      case 'sub':
        this.#sub(event.id, event.event)
        return
      case 'retry':
        this.#endText()
        this.#waiting = undefined
        this.#print(this.#wrapped(retryReason(event), color.yellow))
        this.#retry = {
          at: now() + event.afterMs,
          text: `${event.discard ? 'the answer starts again' : 'trying again'} (${event.attempt} of ${event.of - 1})`,
        }
        return
      case 'compacted':
        this.#print([
          color.dim(
            `The older part of the conversation is a summary now (about ${event.tokensBefore} → ${event.tokensAfter} tokens).`,
          ),
        ])
        return
      case 'error':
        this.#endText()
        this.#print(this.#wrapped(`error: ${event.error.message}`, color.red))
        if (event.error.hint) this.#print(this.#wrapped(`  ${event.error.hint}`, color.dim))
        return
      case 'done':
        this.#endText()
        this.#stop()
        if (event.reason !== 'error' && endText(event) !== '')
          this.#print(this.#wrapped(endText(event), color.yellow))
    }
  }

  /** Time during which a question was on the screen: it is the user's, not the call's. */
  asked(ms: number): void {
    for (const running of this.#running.values()) running.asked += ms
    if (this.#waiting) this.#waiting.asked += ms
  }

  /** Opens the last result that is still folded; each further time, the one before it. */
  open(): void {
    const { color, columns, print } = this.#options
    const view = this.#results.at(-1 - this.#opened)
    const none = this.#results.length === 0 ? 'There is no result yet.' : 'There is no older result.'
    if (view) this.#opened++
    print(view ? openRows(view, columns(), color) : [color.dim(none)])
  }

  /** The rows that move. */
  live(columns: number, most: number): readonly string[] {
    const { dim, italic } = this.#options.color
    const tail = this.#markdown.tail(columns)
    const thoughts =
      this.#thinking === ''
        ? []
        : wrapText(this.#thinking.trim(), { columns, first: '  ', next: '  ' }, (text) =>
            dim(italic(text)),
          ).slice(-THOUGHT_ROWS)
    return [...tail, ...thoughts, ...this.#moving(columns)].slice(-most)
  }

  #moving(columns: number): readonly string[] {
    const { dim, yellow } = this.#options.color
    const now = this.#options.now()
    const spin = FRAMES[Math.floor(now / FRAME_MS) % FRAMES.length] ?? ''
    if (this.#retry) {
      const left = Math.max(0, Math.ceil((this.#retry.at - now) / 1000))
      return [yellow(fit(`${spin} ${this.#retry.text}${left > 0 ? ` in ${left} s` : ''}`, columns))]
    }
    const all = [...this.#running].slice(0, SHOWN).map(([id, one]) => {
      const took = duration(now - one.began - one.asked)
      const sub = this.#subs.get(id)
      const moves = `${took}${progressText(one, columns)}${sub === undefined ? '' : ` · ${sub}`}`
      // The title gives way to what moves.
      const title = fit(one.title, Math.max(TITLE, columns - 3 - width(moves)))
      return dim(fit(`${spin} ${title} ${moves}`, columns))
    })
    if (this.#running.size > SHOWN) all.push(dim(`  … and ${this.#running.size - SHOWN} more`))
    if (all.length > 0 || !this.#waiting) return all
    const took = duration(now - this.#waiting.since - this.#waiting.asked)
    return [dim(`${spin} thinking ${took} · Esc stops`)]
  }

  #start(event: Extract<AgentEvent, { type: 'tool-start' }>): void {
    const { now, columns, color, root, isReadOnly } = this.#options
    const edit = isReadOnly(event.name) ? undefined : fileEditOf(event.arguments, root)
    const isOwn = isJournaled(event.name)
    if (edit && !isOwn) this.edits.starts(event.id, edit)
    this.#waiting = undefined
    const patch = isOwn && !edit ? patchLines(event.arguments) : undefined
    this.#running.set(event.id, { title: event.title, began: now(), asked: 0, edit, patch })
    // The question about an edit of the built-in server shows the difference; without a question it is shown at the end.
    this.#print(
      callRows({ title: event.title, arguments: event.arguments, edit, folded: isOwn }, columns(), color),
    )
  }

  #end(event: Extract<AgentEvent, { type: 'tool-end' }>): void {
    const { columns, color } = this.#options
    const running = this.#running.get(event.id)
    this.#running.delete(event.id)
    this.#subs.delete(event.id)
    if (!isJournaled(event.name)) this.edits.ends(event.id)
    else if (!event.isError) {
      this.edits.journaled()
      const diff = running?.edit?.diff ?? running?.patch
      if (diff && running?.asked === 0) this.#print(diffRows(diff, columns(), color))
    }
    const view: ResultView = {
      title: running?.title ?? event.name,
      isError: event.isError,
      tookMs: event.durationMs - (running?.asked ?? 0),
      content: event.content,
      brief: (running?.edit ?? running?.patch) !== undefined,
    }
    this.#results = [...this.#results, view].slice(-KEPT_RESULTS)
    this.#opened = 0
    this.#print(foldedRows(view, columns(), color))
  }

  async #images(content: readonly ContentBlock[]): Promise<void> {
    const { image, columns } = this.#options
    for (const block of content) {
      const rows = block.type === 'image' ? await image?.(block.data, columns() - 4) : undefined
      if (rows) this.#print(rows)
    }
  }

  #sub(id: string, event: AgentEvent): void {
    const { dim } = this.#options.color
    if (event.type !== 'tool-start') return
    this.#subs.set(id, event.title)
    this.#print([dim(fit(`  → ${event.title}`, this.#options.columns()))])
  }

  #endText(): void {
    this.#endThinking()
    this.#print(this.#markdown.end(this.#options.columns()))
  }

  #endThinking(): void {
    if (this.#thinking.trim() === '') return
    const { dim, italic } = this.#options.color
    this.#print(this.#wrapped(`  ${this.#thinking.trim()}`, (text) => dim(italic(text))))
    this.#thinking = ''
  }

  #stop(): void {
    this.#running.clear()
    this.#subs.clear()
    this.#waiting = undefined
    this.#retry = undefined
    this.#thinking = ''
  }

  #wrapped(text: string, paint: (text: string) => string): readonly string[] {
    return wrapText(text, { columns: this.#options.columns(), next: '  ' }, paint)
  }

  #print(rows: readonly string[]): void {
    if (rows.length > 0) this.#options.print(rows)
  }
}

function progressText({ progress }: Running, columns: number): string {
  if (!progress) return ''
  const { done, total, message } = progress
  const said = message === undefined ? '' : ` ${message.slice(0, 60)}`
  if (total === undefined || !(total > 0)) return ` ${done}${said}`
  const { bar, percent } = barOf(done / total, columns < NARROW ? BAR / 2 : BAR)
  return ` [${bar}] ${percent} %${said}`
}
