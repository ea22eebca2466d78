// screen.ts: the terminal of a conversation: printed text above, and below it what moves, what waits, the editor and a
// status line. It owns the keyboard; what a submitted text or an interrupt means is the app's.
import { StringDecoder } from 'node:string_decoder'
import { type Colors, cursor } from '../colors.ts'
import { EXIT } from '../output.ts'
import { columnsOf, onResize, screenRows, write } from '../streams.ts'
import { type Input, type Key, KeyDecoder } from '../terminal/key-decoder.ts'
import { fit, shownText, width } from '../terminal/layout.ts'
import { LineEditor } from '../terminal/line-editor.ts'
import { type CursorPlace, LiveRegion } from '../terminal/live-region.ts'
import { type Completer, Completion } from './completion-menu.ts'

/** What the conversation shows and does; until there is one, the screen keeps what is sent. */
export interface ScreenHandlers {
  /** Newest first. */
  readonly history: readonly string[]
  readonly complete: Completer
  /** Rows above the editor that may change with every frame. */
  live(columns: number, rows: number): readonly string[]
  /** One line below the editor. */
  status(columns: number): string
  /** Something moves: a frame is due although nothing happened. */
  isMoving(): boolean
  onSubmit(text: string): void
  onInterrupt(key: 'escape' | 'ctrl-c'): void
  /** Ctrl-D at an empty line, or the terminal is gone. */
  onEnd(): void
  /** Any other key that the editor does not use. */
  onKey(key: Key): void
}

const FRAME_MS = 16
const SPIN_MS = 100
const ESCAPE_MS = 60
/** A question takes no key that the user had already begun to type. */
const QUIET_MS = 500
/** Rows of the editor; a longer text scrolls. */
const EDITOR_SHARE = 0.5
const PROMPT = '› '

export class Screen {
  readonly #color: Colors
  readonly #editor = new LineEditor()
  readonly #early: string[] = []
  readonly #completion: Completion
  readonly #decoder = new KeyDecoder()
  readonly #utf8 = new StringDecoder('utf8')
  readonly #region = new LiveRegion({
    write: (text) => write(1, text),
    size: () => ({ columns: columnsOf(1), rows: screenRows(1) }),
  })
  #handlers: ScreenHandlers
  #printed: string[] = []
  #frame: NodeJS.Timeout | undefined
  #spin: NodeJS.Timeout | undefined
  #escape: NodeJS.Timeout | undefined
  #open = false
  #suspended = 0
  #lastKey = 0
  #editorTop = 0
  readonly #onData = (bytes: Buffer | string) => this.#arrived(bytes)
  readonly #onEnd = () => this.#handlers.onEnd()
  #stopResize: () => void = () => undefined

  /** `leave` is called with an exit code while there is no conversation yet. */
  constructor(color: Colors, leave: (code: number) => void) {
    this.#color = color
    this.#handlers = {
      history: [],
      complete: async () => ({ found: [], part: '' }),
      live: () => [],
      status: () => 'starting',
      isMoving: () => false,
      onSubmit: (text) => void this.#early.push(text),
      onInterrupt: (key) => key === 'ctrl-c' && leave(EXIT.interrupted),
      onEnd: () => leave(EXIT.done),
      onKey: () => undefined,
    }
    this.#completion = new Completion(
      this.#editor,
      (before) => this.#handlers.complete(before),
      () => this.invalidate(),
    )
  }

  /** The conversation is there: from now on it decides, beginning with what was sent before. */
  use(handlers: ScreenHandlers): void {
    this.#handlers = handlers
    this.#editor.setHistory(handlers.history)
    for (const text of this.#early.splice(0)) handlers.onSubmit(text)
    this.invalidate()
  }

  get columns(): number {
    // The last column stays empty: a terminal wraps after it.
    return Math.max(20, columnsOf(1) - 1)
  }

  get editor(): LineEditor {
    return this.#editor
  }

  start(): void {
    if (this.#open) return
    this.#open = true
    this.#listen()
    this.#stopResize = onResize(() => this.invalidate())
    // At once: what is loaded next keeps the process busy.
    this.#draw()
  }

  /** Prints rows for good, above everything that moves. */
  print(...rows: readonly string[]): void {
    for (const row of rows) this.#printed.push(...row.split('\n'))
    this.invalidate()
  }

  /** A frame is due. */
  invalidate(): void {
    if (this.#suspended > 0 || !this.#open) return
    this.#frame ??= setTimeout(() => this.#draw(), FRAME_MS)
    if (this.#handlers.isMoving()) this.#spin ??= setInterval(() => this.#tick(), SPIN_MS)
  }

  /** Gives keyboard and screen away for a question, and takes them back after it. */
  async suspend<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#suspended === 0) await this.#quiet(signal)
    this.#suspended++
    if (this.#suspended === 1) this.#giveAway()
    try {
      return await work()
    } finally {
      this.#suspended--
      if (this.#suspended === 0 && this.#open) {
        this.#listen()
        this.invalidate()
      }
    }
  }

  /** Prints what is left and gives the terminal back. */
  stop(): void {
    if (!this.#open) return
    if (this.#suspended === 0) this.#giveAway()
    this.#open = false
    this.#stopResize()
  }

  #giveAway(): void {
    this.#draw()
    clearInterval(this.#spin)
    clearTimeout(this.#frame)
    clearTimeout(this.#escape)
    this.#spin = undefined
    this.#frame = undefined
    this.#region.erase()
    write(1, cursor.pastes(false))
    const { stdin } = process
    stdin.off('data', this.#onData)
    stdin.off('end', this.#onEnd)
    stdin.setRawMode?.(false)
    stdin.pause()
  }

  #listen(): void {
    const { stdin } = process
    stdin.setRawMode?.(true)
    stdin.on('data', this.#onData).on('end', this.#onEnd).resume()
    write(1, cursor.pastes(true))
  }

  async #quiet(signal: AbortSignal | undefined): Promise<void> {
    while (!signal?.aborted) {
      const left = this.#lastKey + QUIET_MS - Date.now()
      if (left <= 0) return
      await new Promise((done) => setTimeout(done, left))
    }
  }

  #tick(): void {
    if (!this.#handlers.isMoving()) {
      clearInterval(this.#spin)
      this.#spin = undefined
    }
    this.#draw()
  }

  #draw(): void {
    clearTimeout(this.#frame)
    this.#frame = undefined
    if (!this.#open) return
    const columns = this.columns
    const rows = screenRows(1)
    const editor = this.#editorRows(columns, rows)
    const below = [...this.#completion.rows(columns, this.#color), this.#statusRow(columns)]
    const room = Math.max(1, rows - editor.rows.length - below.length - 2)
    const above = this.#handlers.live(columns, room).slice(-room)
    const cursorPlace: CursorPlace = { row: above.length + editor.cursor.row, column: editor.cursor.column }
    const printed = this.#printed.splice(0)
    this.#region.draw(printed, [...above, ...editor.rows, ...below], cursorPlace)
  }

  #statusRow(columns: number): string {
    return this.#color.dim(fit(this.#handlers.status(columns), columns))
  }

  #editorRows(
    columns: number,
    screen: number,
  ): { readonly rows: readonly string[]; readonly cursor: CursorPlace } {
    const { cyan, dim, yellow } = this.#color
    const { search } = this.#editor
    const view = this.#editor.view(columns - width(PROMPT))
    const most = Math.max(1, Math.floor(screen * EDITOR_SHARE))
    const { row, column } = view.cursor
    this.#editorTop = Math.min(
      Math.max(this.#editorTop, row - most + 1),
      row,
      Math.max(0, view.rows.length - most),
    )
    const top = this.#editorTop
    const shown = view.rows.slice(top, top + most)
    const rows = shown.map((text, at) => `${at + top === 0 ? cyan(PROMPT) : '  '}${text}`)
    const hidden = view.rows.length - shown.length
    if (hidden > 0) rows.push(dim(`  (${view.rows.length} rows; ${hidden} not shown)`))
    if (search) {
      const label = search.found || search.query === '' ? dim('search: ') : yellow('search, not found: ')
      rows.push(`${label}${fit(shownText(search.query), columns - 24)}`)
    }
    return { rows, cursor: { row: row - top, column: column + width(PROMPT) } }
  }

  #arrived(bytes: Buffer | string): void {
    this.#lastKey = Date.now()
    const text = typeof bytes === 'string' ? bytes : this.#utf8.write(bytes)
    this.#handle(this.#decoder.push(text))
    clearTimeout(this.#escape)
    if (this.#decoder.isWaiting)
      this.#escape = setTimeout(() => this.#handle(this.#decoder.flush()), ESCAPE_MS)
  }

  #handle(inputs: readonly Input[]): void {
    for (const input of inputs) {
      if (input.kind === 'key') this.#press(input)
      else this.#editor.insert(input.kind === 'paste' ? input.text.replace(/\n+$/, '') : input.text)
      if (input.kind !== 'key') this.#completion.typed()
    }
    if (inputs.length > 0) this.invalidate()
  }

  #press(key: Key): void {
    const { ctrl, alt, shift, name } = key
    if (this.#completion.press(key)) return
    if (this.#editor.isSearching) {
      this.#editor.press(key, this.columns - width(PROMPT))
      return
    }
    if (name === 'enter' && !shift && !alt) {
      this.#enter()
      return
    }
    if (ctrl && name === 'c') {
      this.#interrupted()
      return
    }
    if (ctrl && name === 'd' && this.#editor.text === '') {
      this.#handlers.onEnd()
      return
    }
    if (name === 'escape') {
      this.#handlers.onInterrupt('escape')
      return
    }
    if (this.#editor.press(key, this.columns - width(PROMPT))) this.#completion.typed()
    else this.#handlers.onKey(key)
  }

  #enter(): void {
    const { text, cursor: at } = this.#editor
    // A backslash before Enter is a line end, for terminals that cannot tell Shift-Enter.
    if (text[at - 1] === '\\') {
      this.#editor.replace(at - 1, at, '\n')
      return
    }
    if (text.trim() === '') return
    this.#completion.close()
    this.#handlers.onSubmit(this.#editor.take())
  }

  #interrupted(): void {
    this.#completion.close()
    this.#handlers.onInterrupt('ctrl-c')
  }
}
