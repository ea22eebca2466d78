// ui: the board of this folder as a page in the browser, served by the resident process.
import { openBrowser } from '@plugboard/core/auth/browser'
import { InvalidInput } from '@plugboard/core/errors'
import { dial } from '@plugboard/resident/client'
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { definedOnly, placeOf, VERSION } from '../resident/process.ts'
import { startResident } from '../resident/start.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const { host, output, cwd } = invocation
  if (host.platform === 'win32')
    throw new InvalidInput('The page is served by the resident board, which does not run on Windows yet.')
  if (invocation.flag('no-resident'))
    throw new InvalidInput('The page is served by the resident board, so it cannot do without it.', {
      hint: 'Leave out --no-resident.',
    })
  const hooks = { request: () => Promise.reject(new InvalidInput('Nothing is asked here.')) }
  const running = await dial(placeOf(host), VERSION, hooks)
  const dialed = running.kind === 'connected' ? running : await startResident(host, hooks)
  if (dialed.kind !== 'connected')
    throw new InvalidInput(
      `The resident board did not start: ${dialed.kind === 'unusable' ? dialed.why : dialed.kind}.`,
      { hint: `Run \`plugboard up --foreground\` to see what happens, or look at ${placeOf(host).log}.` },
    )
  const { url } = (await dialed.peer.request('board/page', { cwd, env: definedOnly(host.env) })) as {
    readonly url: string
  }
  await dialed.peer.end()
  const opened = !invocation.flag('no-open') && (await openBrowser(host, url))
  output.result({ url, opened }, () => url)
  if (!output.json)
    output.note(
      opened
        ? 'A browser was started. The address works once, within five minutes.'
        : 'Open this address in a browser. It works once, within five minutes.',
    )
  return EXIT.done
}
