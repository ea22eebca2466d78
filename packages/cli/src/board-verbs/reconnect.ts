// reconnect: connects one server afresh, whatever is remembered of it, and prints the result.
import { findResolution } from '@plugboard/core/config'
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { connectedText, reconnect } from '../shared/reconnect.ts'
import { snapshotRow } from '../shared/snapshot-rows.ts'
import { withBoard } from '../with-board.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name = ''] = words(invocation, ['NAME'])
  const { output } = invocation
  return withBoard(invocation, async ({ board, signal }) => {
    const configuration = await invocation.configuration()
    findResolution(configuration, name)
    const snapshot = await reconnect(board, name, signal)
    output.result(snapshotRow(snapshot), () => connectedText(snapshot, output.color))
    return EXIT.done
  })
}
