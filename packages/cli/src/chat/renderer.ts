// renderer.ts: what a user sees of a run: the answer as it streams, the calls with their names, arguments and time, and
// a few moving lines below for what is still running.
import type { AgentEvent } from '@plugboard/agent'
import { cleanLine } from '@plugboard/core/tools'
import { type Colors, cursor } from '../colors.ts'
import { safe } from '../output.ts'
import { barOf } from '../terminal/progress.ts'
import { Markdown, width } from './markdown.ts'
import { briefArguments, endText, retryText } from './print.ts'

export interface RendererOptions {
  readonly color: Colors
  readonly now: () => number
  columns(): number
  write(text: string): void
}

interface Running {
  readonly title: string
  /** When it began, moved later by the time the user took to answer questions. */
  began: number
  /** That time. */
  thought: number
  progress?: {
    readonly done: number
    readonly total?: number | undefined
    readonly message?: string | undefined
  }
}

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'] as const
const FRAME_MS = 100
const BAR = 16
const SHOWN = 6

export class Renderer {
  readonly #options: RendererOptions
  readonly #markdown: Markdown
  readonly #running = new Map<string, Running>()
  #waiting: number | undefined
  #drawn = 0
  #frame = 0
  #timer: NodeJS.Timeout | undefined
  #hidden = false
  #hiddenSince = 0
  /** Events that arrived while a question was on the screen. */
  #later: AgentEvent[] = []

  constructor(options: RendererOptions) {
    this.#options = options
    this.#markdown = new Markdown(options)
  }

  show(event: AgentEvent): void {
    if (this.#hidden) {
      this.#later.push(event)
      return
    }
    const { dim, green, red, yellow, cyan } = this.#options.color
    switch (event.type) {
      case 'turn':
        this.#waiting = this.#options.now()
        this.#animate()
        return
      case 'text':
        this.#quiet()
        this.#markdown.write(event.text)
        return
      case 'tool-start': {
        this.#endText()
        const args = briefArguments(event.arguments, 100)
        this.#print(`${cyan('→')} ${safe(event.title)}${args === '' ? '' : ` ${dim(safe(args))}`}`)
        this.#running.set(event.id, { title: event.title, began: this.#options.now(), thought: 0 })
        this.#animate()
        return
      }
      case 'tool-progress': {
        const running = this.#running.get(event.id)
        if (running) running.progress = { done: event.progress, total: event.total, message: event.message }
        return
      }
      case 'tool-end': {
        const running = this.#running.get(event.id)
        const title = running?.title ?? event.name
        const took = Math.max(0, Math.round(event.durationMs - (running?.thought ?? 0)))
        this.#running.delete(event.id)
        const said = event.content.find((block) => block.type === 'text')
        const brief = event.isError && said?.type === 'text' ? ` ${red(safe(cleanLine(said.text, 120)))}` : ''
        const mark = event.isError ? red('✘') : green('✔')
        this.#print(`${mark} ${safe(title)} ${dim(`${took} ms`)}${brief}`)
        return
      }
      case 'sub':
        if (event.event.type === 'tool-start')
          this.#print(
            dim(`  → ${safe(event.event.title)} ${safe(briefArguments(event.event.arguments, 80))}`),
          )
        return
      case 'retry':
        this.#endText()
        this.#print(yellow(retryText(event)))
        return
      case 'compacted':
        this.#print(dim(`(the older part of the conversation is a summary now)`))
        return
      case 'error':
        this.#endText()
        this.#print(`${red('error')}: ${safe(event.error.message)}`)
        if (event.error.hint) this.#print(`  ${dim(safe(event.error.hint))}`)
        return
      case 'done': {
        this.#endText()
        this.#running.clear()
        this.stop()
        if (event.reason !== 'end' && event.reason !== 'error') this.#print(yellow(endText(event)))
        const { inputTokens, outputTokens } = event.usage
        if (inputTokens > 0) this.#print(dim(`${inputTokens} tokens in, ${outputTokens} out`))
        return
      }
      default:
        return
    }
  }

  /** Hides the moving lines while a question is on the screen. */
  hide(hidden: boolean): void {
    if (hidden === this.#hidden) return
    if (hidden) this.#endText()
    this.#hidden = hidden
    if (hidden) {
      this.#hiddenSince = this.#options.now()
      return
    }
    const thought = this.#options.now() - this.#hiddenSince
    for (const running of this.#running.values()) {
      running.began += thought
      running.thought += thought
    }
    this.#animate()
    for (const event of this.#later.splice(0)) this.show(event)
  }

  /** Lets other code print a line of its own, above the moving lines. */
  aside(print: () => void): void {
    this.#erase()
    if (!this.#hidden) this.#markdown.end()
    print()
    this.#draw()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#waiting = undefined
    this.#erase()
  }

  #endText(): void {
    this.#quiet()
    this.#markdown.end()
  }

  #quiet(): void {
    this.#waiting = undefined
    this.#erase()
  }

  #print(line: string): void {
    this.#erase()
    this.#options.write(`${line}\n`)
    this.#draw()
  }

  #animate(): void {
    this.#draw()
    this.#timer ??= setInterval(() => {
      this.#frame++
      this.#erase()
      this.#draw()
    }, FRAME_MS)
  }

  #erase(): void {
    if (this.#drawn > 0) this.#options.write(cursor.up(this.#drawn) + cursor.home() + cursor.eraseBelow())
    this.#drawn = 0
  }

  #draw(): void {
    if (this.#hidden) return
    this.#erase()
    const lines = this.#lines()
    if (lines.length > 0) this.#options.write(`${lines.join('\n')}\n`)
    this.#drawn = lines.length
  }

  #lines(): string[] {
    const { dim } = this.#options.color
    const spin = FRAMES[this.#frame % FRAMES.length] ?? ''
    const seconds = (since: number) => `${((this.#options.now() - since) / 1000).toFixed(1)} s`
    const columns = Math.max(20, this.#options.columns() - 1)
    if (this.#running.size === 0)
      return this.#waiting === undefined ? [] : [dim(`${spin} thinking ${seconds(this.#waiting)}`)]
    const all = [...this.#running.values()]
    const lines = all
      .slice(0, SHOWN)
      .map((one) => dim(fit(`${spin} ${safe(one.title)} ${seconds(one.began)}${progressText(one)}`, columns)))
    return all.length > SHOWN ? [...lines, dim(`  … and ${all.length - SHOWN} more`)] : lines
  }
}

function progressText({ progress }: Running): string {
  if (!progress) return ''
  const { done, total, message } = progress
  const said = message === undefined ? '' : ` ${cleanLine(message, 60)}`
  if (total === undefined || !(total > 0)) return ` ${done}${said}`
  const { bar, percent } = barOf(done / total, BAR)
  return ` [${bar}] ${percent} %${said}`
}

/** A moving line must be one row, or it cannot be erased. */
function fit(line: string, columns: number): string {
  if (width(line) <= columns) return line
  let cut = line
  while (width(cut) > columns - 1) cut = cut.slice(0, -1)
  return `${cut}…`
}
