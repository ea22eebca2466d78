// list: every server that the machine knows, where it comes from and how it is.
import type { Configuration } from '@plugboard/core/config'
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { configuredRow, hiddenNote, rowsAsText, type ServerRow } from '../servers.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const { output } = invocation
  const configuration = await invocation.configuration()
  const rows = configuration.servers.map(configuredRow)
  output.result(asData(configuration, rows), () => rowsAsText(rows, output.color))
  const note = hiddenNote(configuration)
  if (note && !output.json) output.note(note)
  return EXIT.done
}

export function asData(configuration: Configuration, rows: readonly ServerRow[]) {
  const note = hiddenNote(configuration)
  return {
    servers: rows,
    ...(note && {
      managed: { file: configuration.exclusiveFile, message: note, hidden: configuration.hidden },
    }),
    ...(configuration.diagnostics.length > 0 && { diagnostics: configuration.diagnostics }),
  }
}
