// config: facts about the settings files themselves.
import { settingsJsonSchema } from '@plugboard/core/config/json-schema'
import { InvalidInput } from '@plugboard/core/errors'
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [what = ''] = words(invocation, ['schema'])
  if (what !== 'schema')
    throw new InvalidInput(`There is no "config ${what}".`, {
      hint: '`plugboard config schema` prints the JSON Schema.',
    })
  const schema = settingsJsonSchema()
  invocation.output.result(schema, () => JSON.stringify(schema, null, 2))
  return EXIT.done
}
