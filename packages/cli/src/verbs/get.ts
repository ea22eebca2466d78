// get: one server in full.
import { findResolution, maskEntry } from '@plugboard/core/config'
import { type Invocation, words } from '../context.ts'
import { EXIT, shortPath, table } from '../output.ts'
import { configuredRow } from '../servers.ts'

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
  const entry = invocation.flag('show-secrets') ? winner.written : maskEntry(winner.written)
  const row = configuredRow(server)
  output.result({ ...row, entry }, () => {
    const { bold, dim } = output.color
    const facts = [
      ['  state', row.reason ? `${row.state}: ${row.reason}` : row.state],
      ['  scope', row.scope],
      ['  source', `${shortPath(row.source)}${winner.line ? `:${winner.line}` : ''}`],
      ['  type', row.type],
    ]
    return [bold(name), table(facts), dim(JSON.stringify(entry, null, 2).replace(/^/gm, '  '))].join('\n')
  })
  return EXIT.done
}
