// parsed-arguments.ts: the arguments of a call where a provider sends them as text.
import { InvalidInput } from '../errors.ts'

/**
 * A model's arguments as JSON text; an empty text means none.
 *
 * @example
 * console.log(parsedArguments('{"text":"hi"}')) // { text: 'hi' }
 */
export function parsedArguments(text: string): unknown {
  if (text.trim() === '') return {}
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new InvalidInput(`The arguments are not JSON: ${(cause as Error).message}.`, {
      stage: 'call',
      hint: 'Send one JSON object.',
      cause,
    })
  }
}
