// list with a board: connects every enabled server and shows the result, growing on a terminal as answers arrive.
import { cursor, withoutCodes } from '../colors.ts'
import type { Invocation } from '../context.ts'
import { EXIT } from '../output.ts'
import { hiddenNote, listAsData, type ServerRow } from '../server-table.ts'
import { listText } from '../shared/list-text.ts'
import { rowsOf } from '../shared/snapshot-rows.ts'
import { connectTimeout } from '../shared/timeouts.ts'
import { unmatchedRulesOf } from '../shared/unmatched-rules.ts'
import { canRedraw, columnsOf, screenRows, write } from '../streams.ts'
import { withBoard } from '../with-board.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { output } = invocation
  const growing = !output.json && !output.quiet && canRedraw(1)
  return withBoard(
    invocation,
    async ({ board, signal }) => {
      const configuration = await invocation.configuration()
      const screen = growing
        ? new Screen(() => listText(rowsOf(board), output.color, configuration))
        : undefined
      const stop = screen && board.on('state', () => screen.soon())
      screen?.drawIfItFits()
      // Servers that wait for a slot behind slow ones do not make the command longer than one connect may take.
      const timeoutMs = (await connectTimeout(invocation)) + SETTLE_MS
      await board.ready({ signal, timeoutMs })
      stop?.()
      const rows = rowsOf(board).map((row) => givenUp(row, timeoutMs))
      const unmatched = unmatchedRulesOf(board, configuration).map(({ diagnostic }) => diagnostic)
      if (screen) screen.draw(listText(rows, output.color, configuration))
      else
        output.result(listAsData(configuration, rows, unmatched), () =>
          listText(rows, output.color, configuration),
        )
      invocation.reportFaults(unmatched)
      const note = hiddenNote(configuration)
      if (note && !output.json) output.note(note)
      return EXIT.done
    },
    { showsWaits: !growing },
  )
}

/** The command ends here, and with it the attempt: a server that has not answered by now has failed for this run. */
function givenUp(row: ServerRow, waitedMs: number): ServerRow {
  if (row.state !== 'pending') return row
  return {
    ...row,
    state: 'failed',
    stage: row.stage ?? 'connect',
    code: 'TIMEOUT',
    error: `"${row.name}" did not answer within ${waitedMs} ms.`,
    hint: `Give it longer with connectTimeout in its entry or --timeout, or run \`plugboard doctor ${row.name}\`.`,
  }
}

/** A connect that times out says so itself, a moment after it could have succeeded. */
const SETTLE_MS = 500

const FRAME_MS = 60

/** Draws over what it drew before. */
class Screen {
  readonly #text: () => string
  #lines = 0
  #timer: NodeJS.Timeout | undefined

  constructor(text: () => string) {
    this.#text = text
  }

  soon(): void {
    this.#timer ??= setTimeout(() => this.drawIfItFits(), FRAME_MS)
  }

  /** What has scrolled off the top cannot be redrawn: then only the end is shown. */
  drawIfItFits(): void {
    this.#timer = undefined
    const text = this.#text()
    if (screenLines(text) < screenRows(1)) this.draw(text)
  }

  draw(text: string): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const back = this.#lines > 0 ? cursor.up(this.#lines) + cursor.eraseBelow() : ''
    write(1, `${back}${text}\n`)
    this.#lines = screenLines(text)
  }
}

/** Long lines wrap, so they take more than one row of the screen. */
function screenLines(text: string): number {
  const columns = columnsOf(1)
  return withoutCodes(text)
    .split('\n')
    .reduce((sum, line) => sum + Math.max(1, Math.ceil([...line].length / columns)), 0)
}
