// enable and disable: switch a server on or off for this user.
import { setEnabled } from '@plugboard/core/config/manage'
import { type Invocation, words } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'

export function run(invocation: Invocation): Promise<number> {
  return switchServer(invocation, true)
}

export async function switchServer(invocation: Invocation, enabled: boolean): Promise<number> {
  const [name = ''] = words(invocation, ['NAME'])
  const { changed } = await setEnabled(await invocation.configuration(), invocation.host, name, enabled)
  const word = enabled ? 'on' : 'off'
  invocation.output.result({ name, enabled, changed }, () =>
    changed.length === 0
      ? `${name} was already switched ${word}`
      : `Switched ${name} ${word} in ${changed.map(shortPath).join(', ')}`,
  )
  return EXIT.done
}
