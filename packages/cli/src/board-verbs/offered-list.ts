// offered-list.ts: the frame of `prompts`, `resources` and `skills`: what one server offers or, after waiting for them, all servers.
import { type Invocation, words } from '../context.ts'
import { EXIT, type Output } from '../output.ts'
import { noteAbsent } from '../shared/missing-servers.ts'
import { connectTimeout } from '../shared/timeouts.ts'
import { type OpenedBoard, withBoard } from '../with-board.ts'

interface OfferedList {
  /** As in "No prompts." */
  readonly kind: string
  /** `unlisted`: servers whose lists the catalog knows are not started. */
  readonly start: 'all' | 'unlisted'
  /** Reads what is offered. */
  read(opened: OpenedBoard, server: string | undefined, output: Output): Promise<Offered>
}

interface Offered {
  readonly count: number
  print(): void
}

export async function listOffered(
  invocation: Invocation,
  { kind, start, read }: OfferedList,
): Promise<number> {
  const [server] = words(invocation, ['SERVER'], 1)
  const { output } = invocation
  return withBoard(invocation, async (opened) => {
    const { board, signal } = opened
    if (server === undefined)
      await board.ready({ signal, timeoutMs: await connectTimeout(invocation), start })
    const offered = await read(opened, server, output)
    if (server === undefined) noteAbsent(invocation, board)
    offered.print()
    if (offered.count === 0 && !output.json) output.note(`No ${kind}.`)
    return EXIT.done
  })
}
