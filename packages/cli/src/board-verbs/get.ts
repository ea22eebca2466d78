// get with a board: one server in full, with its current state.
import { findResolution, maskEntry } from '@plugboard/core/config'
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { getAsText } from '../server-table.ts'
import { snapshotRow } from '../shared/snapshot-rows.ts'
import { withBoard } from '../with-board.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name = ''] = words(invocation, ['NAME'])
  const { output } = invocation
  return withBoard(invocation, async ({ board, signal }) => {
    const configuration = await invocation.configuration()
    const resolution = findResolution(configuration, name)
    await board.connect(name, { signal })
    const snapshot = board.servers().find((server) => server.name === name)
    const winner = resolution.contenders.find(({ verdict }) => verdict.kind === 'winner')?.definition
    const entry = invocation.flag('show-secrets') ? winner?.written : maskEntry(winner?.written)
    if (!snapshot) return EXIT.notFound
    const row = snapshotRow(snapshot)
    const { capabilities, instructions } = snapshot
    const said = { ...(capabilities && { capabilities }), ...(instructions && { instructions }) }
    output.result({ ...row, entry, ...said }, () => getAsText(row, entry, winner?.line, output.color, said))
    return EXIT.done
  })
}
