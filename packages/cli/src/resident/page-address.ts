// page-address.ts: an address of the page of this folder's board, from the resident process, which is started when none runs.
import { InvalidInput } from '@plugboard/core/errors'
import { dial } from '@plugboard/resident/client'
import type { Invocation } from '../context.ts'
import { definedOnly, placeOf, VERSION } from './process.ts'
import { startResident } from './start.ts'

/** It works once, soon. `view` is where the page opens: a view, and what is selected in it. */
export async function pageAddress(
  { host, cwd }: Pick<Invocation, 'host' | 'cwd'>,
  ...view: readonly string[]
): Promise<string> {
  if (host.platform === 'win32')
    throw new InvalidInput('The page is served by the resident board, which does not run on Windows yet.')
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
  const path = view.map(encodeURIComponent).join('/')
  return view.length === 0 ? url : `${url}&view=${encodeURIComponent(path)}`
}
