// remove: one server, out of our own files.
import { removeServer } from '@plugboard/core/config/manage'
import { type Invocation, scopeOption, words } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name = ''] = words(invocation, ['NAME'])
  const { files } = await removeServer(await invocation.configuration(), name, scopeOption(invocation))
  invocation.output.result({ name, files }, () => `Removed ${name} from ${files.map(shortPath).join(', ')}`)
  return EXIT.done
}
