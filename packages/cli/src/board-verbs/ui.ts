// ui: the board of this folder as a page in the browser, served by the resident process.
import { openBrowser } from '@plugboard/core/auth/browser'
import { InvalidInput } from '@plugboard/core/errors'
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { pageAddress } from '../resident/page-address.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  if (invocation.flag('no-resident'))
    throw new InvalidInput('The page is served by the resident board, so it cannot do without it.', {
      hint: 'Leave out --no-resident.',
    })
  await showPage(invocation, await pageAddress(invocation), !invocation.flag('no-open'))
  return EXIT.done
}

/** Starts a browser, unless the user will open the address. */
export async function showPage({ host, output }: Invocation, url: string, opens: boolean): Promise<void> {
  const opened = opens && (await openBrowser(host, url))
  output.result({ url, opened }, () => url)
  if (!output.json)
    output.note(
      opened
        ? 'A browser was started. The address works once, within five minutes.'
        : 'Open this address in a browser. It works once, within five minutes.',
    )
}
