// programmatic-servers.ts: the servers that a program passes to a board. Missing fields get their defaults, as for an entry
// in a file; a fault is an error that names its path, before anything starts.
import type { ServerEntry, ServerInput } from '../config/entry.ts'
import { startSignature } from '../config/fingerprints.ts'
import { nameFault } from '../config/names.ts'
import type { SchemaFault } from '../config/schema.ts'
import { isEditorEntry, isRemoteEntry, kindOfType, startsCommand } from '../config/transport-traits.ts'
import type { ConfiguredServer } from '../config/types.ts'
import { InvalidInput } from '../errors.ts'
import { isObject } from '../json.ts'

/** Servers by name, or a list of them with the fields of the configuration. */
export type GivenServers = Readonly<Record<string, ServerInput>> | readonly ConfiguredServer[]

/** `path` is the option's name in errors. */
export async function givenServers(
  servers: GivenServers,
  path: string,
): Promise<readonly ConfiguredServer[]> {
  if (isObject(servers))
    return await Promise.all(
      Object.entries(servers).map(([name, entry]) => namedServer(name, entry, `${path}${step(name)}`)),
    )
  if (!Array.isArray(servers)) throw wrong(path, 'expected an object of servers: { memory: { command: … } }')
  return await Promise.all(servers.map((server, index) => givenServer(server, `${path}[${index}]`)))
}

/**
 * A server that a program names itself. What a file only gets a warning for, an unknown key or a number where text
 * belongs, is a mistake of the program, so it is refused.
 */
export async function namedServer(name: string, given: unknown, path: string): Promise<ConfiguredServer> {
  const fault = nameFault(name)
  if (fault) throw wrong(path, fault.message, fault.hint)
  const { readEntry } = await import('../config/schema.ts')
  const outcome = readEntry(given)
  const [first] = outcome.faults
  if (first) throw wrongEntry(path, first)
  if (!outcome.ok) throw wrong(path, 'is not a server entry')
  const { entry } = outcome
  return {
    name,
    entry,
    scope: 'dynamic',
    source: '(given by the program)',
    signature: startSignature(entry),
    ...(entry.disabled && { disabled: { kind: 'config' as const, text: 'its entry says so' } }),
  }
}

/** One step of a path, as a program would write it. */
function step(key: string | number): string {
  if (typeof key === 'number') return `[${key}]`
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`
}

/** The type guarantees the fields, but a JavaScript program may not respect it. */
async function givenServer(given: Partial<ConfiguredServer>, path: string): Promise<ConfiguredServer> {
  if (typeof given !== 'object' || given === null) throw wrong(path, 'expected {"name": …, "entry": {…}}')
  const { name, entry } = given
  if (typeof name !== 'string' || name === '') throw wrong(`${path}.name`, 'expected the name of the server')
  if (typeof entry !== 'object' || entry === null)
    throw wrong(`${path}.entry`, 'expected a server entry as in a file: {"command": …} or {"url": …}')
  if (isWhole(entry) && given.signature !== undefined && given.scope !== undefined)
    return given as ConfiguredServer
  const whole = isWhole(entry) ? entry : await completed(entry, `${path}.entry`)
  return {
    ...given,
    name,
    entry: whole,
    scope: given.scope ?? 'dynamic',
    source: given.source ?? '(given by the program)',
    signature: given.signature ?? startSignature(whole),
  }
}

function isWhole(entry: ServerEntry): boolean {
  if (kindOfType(entry.type) === undefined) return false
  if (startsCommand(entry))
    return typeof entry.command === 'string' && areTexts(entry.args) && areTexts(entry.env)
  if (isRemoteEntry(entry)) return typeof entry.url === 'string' && areTexts(entry.headers)
  return isEditorEntry(entry) ? areTexts(entry.headers) : true
}

function areTexts(given: unknown): boolean {
  return (
    (isObject(given) || Array.isArray(given)) &&
    Object.values(given).every((value) => typeof value === 'string')
  )
}

async function completed(entry: object, path: string): Promise<ServerEntry> {
  const { readEntry } = await import('../config/schema.ts')
  const outcome = readEntry(entry)
  // A whole entry has keys that no file has; every other fault is refused.
  const fault = outcome.faults.find(({ kind }) => kind !== 'unknown-key')
  if (fault) throw wrongEntry(path, fault)
  if (!outcome.ok) throw wrong(path, 'is not a server entry')
  return outcome.entry
}

function wrongEntry(path: string, { path: steps, message, hint, kind }: SchemaFault): InvalidInput {
  return wrong(`${path}${steps.map(step).join('')}`, message, kind === 'value' ? undefined : hint)
}

function wrong(path: string, message: string, hint?: string): InvalidInput {
  return new InvalidInput(`${path}: ${message}.`.replace(/\.\.$/, '.'), {
    hint: hint ?? 'Entries are as in a settings file; see docs/configuration.md.',
  })
}
