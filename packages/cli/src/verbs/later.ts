// later: verbs that the plan names and this version does not have. They say so instead of pretending.
import { InvalidInput } from '@plugboard/core/errors'

export async function run(): Promise<number> {
  throw new InvalidInput('This verb is not in this version yet.', {
    hint: 'Run `plugboard --help` for what there is.',
  })
}
