// offered-list.ts: the frame of `prompts`, `resources` and `skills`: what one server offers or, after waiting for them, all servers.
import { type Invocation, words } from '../context.ts'
import { EXIT, type Output } from '../output.ts'
import { allServers } from '../shared/missing-servers.ts'
import { type OpenedBoard, withBoard } from '../with-board.ts'

interface OfferedList {
  /** As in "No prompts." */
  readonly kind: string
  /** Prints what is offered, and answers how many items that were. */
  print(opened: OpenedBoard, server: string | undefined, output: Output): Promise<number>
}

export async function listOffered(invocation: Invocation, { kind, print }: OfferedList): Promise<number> {
  const [server] = words(invocation, ['SERVER'], 1)
  const { output } = invocation
  return withBoard(invocation, async (opened) => {
    if (server === undefined) await allServers(invocation, opened)
    const count = await print(opened, server, output)
    if (count === 0 && !output.json) output.note(`No ${kind}.`)
    return EXIT.done
  })
}
