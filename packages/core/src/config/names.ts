// names.ts: which server names are legal.
import { CONFIG_LIMITS } from '../limits.ts'

/** Servers that are built in and run in this process. */
export const BUILTIN_NAMES = ['codebase', 'workspace', 'browser', 'computer'] as const
export type BuiltinName = (typeof BUILTIN_NAMES)[number]

/** A configuration file may not take these. */
export const RESERVED_NAMES: ReadonlySet<string> = new Set([...BUILTIN_NAMES, 'plugboard'])

const ALLOWED = /^[A-Za-z0-9_-]+$/
/** Unsafe wherever a name becomes a property. */
const POISON = new Set(['__proto__'])

export interface NameFault {
  readonly message: string
  readonly hint: string
}

/** What is wrong with a name, or undefined when nothing is. */
export function nameFault(name: string): NameFault | undefined {
  if (name === '') return { message: 'a server name is empty', hint: 'Use letters, digits, - and _.' }
  if (RESERVED_NAMES.has(name))
    return {
      message: `the name "${name}" is reserved for a built-in server`,
      hint: `Choose another name, for example "my-${name}".`,
    }
  if (POISON.has(name)) return { message: `"${name}" cannot be a server name`, hint: 'Choose another name.' }
  if (name.length > CONFIG_LIMITS.nameLength)
    return {
      message: `the server name is ${name.length} characters long`,
      hint: `Keep it at ${CONFIG_LIMITS.nameLength} or fewer.`,
    }
  if (ALLOWED.test(name)) return undefined
  return {
    message: `the server name ${JSON.stringify(name)} has ${illegalCharacters(name)}`,
    hint: `Use letters a-z, digits, - and _; for example "${suggestion(name)}".`,
  }
}

/** The same for a new name: `__` separates server and tool in rules and tool names. */
export function newNameFault(name: string): NameFault | undefined {
  const fault = nameFault(name)
  if (fault || !name.includes('__')) return fault
  return {
    message: `the server name "${name}" has "__", which separates servers from tools in rules`,
    hint: `Choose another name, for example "${name.replace(/_{2,}/g, '_')}".`,
  }
}

/** Look-alikes are named by their code point, because they look the same. */
function illegalCharacters(name: string): string {
  const odd = [...new Set([...name].filter((char) => !/[A-Za-z0-9_-]/.test(char)))].slice(0, 3)
  const shown = odd.map((char) => {
    const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    return /[\x21-\x7e]/.test(char) ? `"${char}"` : `U+${code}`
  })
  return `${odd.length > 1 ? 'characters' : 'a character'} that names may not have (${shown.join(', ')})`
}

function suggestion(name: string): string {
  const ascii = name.normalize('NFKD').replace(/[^A-Za-z0-9_-]+/g, '-')
  return ascii.replace(/^-+|-+$/g, '') || 'my-server'
}
