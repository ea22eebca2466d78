// watch: says whenever a resource changes, until it is interrupted.
import type { PlugboardError } from '@plugboard/core/errors'
import { type Invocation, words } from '../context.ts'
import { EXIT, jsonLine } from '../output.ts'
import { withBoard } from '../plug.ts'
import { write } from '../streams.ts'
import { forStdout } from '../use/shown.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [server = '', uri = ''] = words(invocation, ['SERVER', 'URI'])
  const { output } = invocation
  return withBoard(invocation, async ({ board, signal }) => {
    const updates = board.events(signal)
    await board.subscribe(server, uri, { signal })
    if (!output.json) output.note(`Watching ${uri}; Ctrl-C ends it.`)
    for await (const event of updates) {
      if (event.type === 'state' && event.server === server && event.state.kind === 'failed')
        throw event.state.error as PlugboardError
      if (event.type !== 'resource-updated' || event.server !== server || event.uri !== uri) continue
      const at = new Date(invocation.host.now()).toISOString()
      const contents = invocation.flag('read')
        ? await board.read(server, uri, { caller: 'user', signal })
        : undefined
      if (output.json) write(1, jsonLine({ server, uri, at, ...(contents && { contents }) }))
      else {
        write(1, `${at} ${uri}\n`)
        for (const content of contents ?? [])
          write(
            1,
            'text' in content
              ? `${forStdout(content.text)}\n`
              : `[${content.blob.length} characters of base64]\n`,
          )
      }
    }
    return EXIT.interrupted
  })
}
