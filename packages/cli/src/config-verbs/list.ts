// list: every configured server, where it comes from and its state. When no server is to be connected, the board is not
// even loaded.
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { configuredRow, hiddenNote, listAsData } from '../server-table.ts'
import { listText } from '../shared/list-text.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const { output } = invocation
  const configuration = await invocation.configuration()
  const enabled = configuration.servers.some(({ disabled }) => !disabled)
  if (enabled && !invocation.flag('no-connect'))
    return (await invocation.loadBoardVerb('list')).run(invocation)
  const rows = configuration.servers.map(configuredRow)
  output.result(listAsData(configuration, rows), () =>
    listText(rows, output.color, configuration, { notStarted: true }),
  )
  const note = hiddenNote(configuration)
  if (note && !output.json) output.note(note)
  return EXIT.done
}
