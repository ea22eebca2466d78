// given-builtins.ts: `builtins` of a program: which of ours it switches, and which it brings. A wrong one is refused by name.
import type { BuiltinServer } from '../builtin/index.ts'
import {
  type BuiltinChoices,
  isBuiltinName,
  isSwitchName,
  unknownBuiltinHint,
} from '../config/builtin-switches.ts'
import { newNameFault } from '../config/names.ts'
import { InvalidInput } from '../errors.ts'
import type { BoardBehaviour } from './options.ts'

export interface GivenBuiltins {
  readonly own: Readonly<Record<string, BuiltinServer>>
  readonly choices: Pick<BuiltinChoices, 'builtins' | 'ownBuiltins'>
}

export function givenBuiltins(given: BoardBehaviour['builtins']): GivenBuiltins {
  const own: Record<string, BuiltinServer> = {}
  const switched: Record<string, boolean> = {}
  for (const [name, value] of Object.entries(given ?? {}))
    if (typeof value === 'boolean') {
      if (!isSwitchName(name))
        throw new InvalidInput(`\`builtins.${name}\`: there is no built-in server of that name.`, {
          hint: `${unknownBuiltinHint(name)} A server of your own is an object with \`create\`.`,
        })
      switched[name] = value
    } else own[name] = checked(name, value)
  return {
    own,
    choices: {
      ...(Object.keys(switched).length > 0 && { builtins: switched }),
      ...(Object.keys(own).length > 0 && { ownBuiltins: Object.keys(own) }),
    },
  }
}

function checked(name: string, value: BuiltinServer): BuiltinServer {
  const fault = isBuiltinName(name) ? undefined : newNameFault(name)
  if (fault) throw new InvalidInput(`\`builtins\`: ${fault.message}.`, { hint: fault.hint })
  const { create, allow } = Object(value) as Partial<BuiltinServer>
  if (typeof create !== 'function')
    throw new InvalidInput(`\`builtins.${name}.create\` is not a function.`, {
      hint: 'It makes the server: `{ create: () => new McpServer(…), allow: ["query"] }`.',
    })
  if (allow !== undefined && !(Array.isArray(allow) && allow.every((tool) => typeof tool === 'string')))
    throw new InvalidInput(`\`builtins.${name}.allow\` is not a list of tool names.`)
  return value
}
