// get: one server in full.
import { findResolution, maskEntry } from '@plugboard/core/config'
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { configuredRow, getAsText } from '../server-table.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name = ''] = words(invocation, ['NAME'])
  const { output } = invocation
  const resolution = findResolution(await invocation.configuration({ withLines: true }), name)
  const winner = resolution.contenders.find(({ verdict }) => verdict.kind === 'winner')?.definition
  const { server } = resolution
  if (!winner || !server) {
    const { run: explain } = await import('./explain.ts')
    return explain(invocation)
  }
  if (!server.disabled && !invocation.flag('no-connect'))
    return (await invocation.loadBoardVerb('get')).run(invocation)
  // An entry that waits for approval is the repository's own text: the user has to see all of it before the yes.
  const waits = resolution.trust?.trusted === false
  const entry = waits || invocation.flag('show-secrets') ? winner.written : maskEntry(winner.written)
  const row = configuredRow(server)
  output.result({ ...row, entry }, () => getAsText(row, entry, winner.line, output.color))
  return EXIT.done
}
