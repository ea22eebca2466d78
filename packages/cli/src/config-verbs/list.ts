// list: every configured server, where it comes from and its state. When no server is to be connected, the board is not
// even loaded.
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { configuredRow, hiddenNote, listAsData, mayAdd, rowsAsText } from '../servers.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const { output } = invocation
  const configuration = await invocation.configuration()
  const enabled = configuration.servers.some(({ disabled }) => !disabled)
  if (enabled && !invocation.flag('no-connect'))
    return (await invocation.loadBoardVerb('list')).run(invocation)
  const rows = configuration.servers.map(configuredRow)
  output.result(listAsData(configuration, rows), () => rowsAsText(rows, output.color, mayAdd(configuration)))
  const note = hiddenNote(configuration)
  if (note && !output.json) output.note(note)
  return EXIT.done
}
