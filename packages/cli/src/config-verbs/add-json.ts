// add-json: one server, from its entry as JSON.

import { parseJson } from '@plugboard/core/config/parse'
import { InvalidInput } from '@plugboard/core/errors'
import { type Invocation, words } from '../context.ts'
import { finishAdd } from './add.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name = '', text = ''] = words(invocation, ['NAME', 'JSON'])
  const { value, fault } = parseJson(text, 'JSON')
  if (fault)
    throw new InvalidInput(`The JSON is not valid: ${fault.message} (column ${fault.column ?? 1}).`, {
      hint: fault.hint ?? 'Put the whole entry in single quotes.',
    })
  return finishAdd(invocation, name, value)
}
