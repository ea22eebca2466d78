// given-servers.ts: the servers that a program passes to a board. Missing fields get their defaults, as for an entry
// in a file; a fault is an error that names its path, before anything starts.
import type { ServerEntry } from '../config/entry.ts'
import { signatureOf } from '../config/fingerprints.ts'
import { isEditorEntry, isRemoteEntry, kindOfType, startsCommand } from '../config/transport-traits.ts'
import type { ConfiguredServer } from '../config/types.ts'
import { InvalidInput } from '../errors.ts'
import { isObject } from '../json.ts'

/** `path` is the list's name in errors. */
export async function givenServers(
  servers: readonly ConfiguredServer[],
  path: string,
): Promise<readonly ConfiguredServer[]> {
  if (!Array.isArray(servers))
    throw wrong(path, 'expected a list of servers: [{"name": …, "entry": {"command": …}}]')
  return await Promise.all(servers.map((server, index) => givenServer(server, `${path}[${index}]`)))
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
    signature: given.signature ?? signatureOf(whole),
  }
}

function isWhole(entry: ServerEntry): boolean {
  if (kindOfType(entry.type) === undefined) return false
  if (startsCommand(entry))
    return typeof entry.command === 'string' && Array.isArray(entry.args) && isObject(entry.env)
  if (isRemoteEntry(entry)) return typeof entry.url === 'string' && isObject(entry.headers)
  return isEditorEntry(entry) ? isObject(entry.headers) : true
}

async function completed(entry: object, path: string): Promise<ServerEntry> {
  const { readEntry } = await import('../config/schema.ts')
  const outcome = readEntry(entry)
  if (outcome.ok) return outcome.entry
  const fault = outcome.faults.find(({ severity }) => severity === 'error')
  const steps =
    fault?.path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('') ?? ''
  throw wrong(`${path}${steps}`, fault?.message ?? 'is not a server entry', fault?.hint)
}

function wrong(path: string, message: string, hint?: string): InvalidInput {
  return new InvalidInput(`${path}: ${message}.`.replace(/\.\.$/, '.'), {
    hint: hint ?? 'Entries are as in a settings file; see docs/configuration.md.',
  })
}
