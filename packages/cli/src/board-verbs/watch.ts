// watch: prints a line whenever a resource changes, until it is interrupted.
import { type Invocation, words } from '../context.ts'
import { EXIT, jsonLine, safe } from '../output.ts'
import { forStdout } from '../shared/one-line.ts'
import { neverBlock, readByReader, write } from '../streams.ts'
import { type OpenedBoard, withBoard } from '../with-board.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [server = '', uri = ''] = words(invocation, ['SERVER', 'URI'])
  neverBlock()
  return withBoard(invocation, async (opened) => {
    // While its server is down nothing else keeps the command alive.
    const keep = setInterval(() => undefined, KEEP_MS)
    try {
      return await watch(invocation, opened, server, uri)
    } finally {
      clearInterval(keep)
    }
  })
}

const KEEP_MS = 2 ** 30

async function watch(
  invocation: Invocation,
  { board, signal }: OpenedBoard,
  server: string,
  uri: string,
): Promise<number> {
  const { output } = invocation
  const updates = board.events(signal)
  await board.subscribe(server, uri, { signal })
  if (!output.json) output.note(`Watching ${uri}; Ctrl-C ends it.`)
  for await (const event of updates) {
    // A server that went down is retried without end, and the subscription with it.
    if (event.type === 'state' && event.server === server && event.state.kind === 'failed')
      output.note(`${safe(event.state.error.message)}\nThe client tries again until the server is back.`)
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
    await readByReader(signal)
  }
  return EXIT.interrupted
}
