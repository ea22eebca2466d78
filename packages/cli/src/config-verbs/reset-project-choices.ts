// reset-project-choices: forgets every approval of this project.
import { resetProjectChoices } from '@plugboard/core/config/manage'
import { type Invocation, words } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const configuration = await invocation.configuration()
  const forgotten = await resetProjectChoices(configuration)
  invocation.output.result(
    { project: configuration.place.root, forgotten },
    () =>
      `Forgot ${forgotten} approval${forgotten === 1 ? '' : 's'} for ${shortPath(configuration.place.root)}`,
  )
  return EXIT.done
}
