// plan.ts: one file of another client → the same file with one entry in place of its servers, and those servers as
// entries of ours. Pure; adopt.ts reads, writes and undoes.
import { editText } from '../edit.ts'
import type { ImportNote, WrittenEntry } from '../import/index.ts'
import { isObject, type JsonObject, parseJson, parseToml } from '../import/tree.ts'
import { type AdoptableClient, valueAt } from './clients.ts'
import { isOwnEntry, OWN_NAME } from './own-entry.ts'
import { replaceTables } from './toml-tables.ts'

export interface TakenServer {
  /** As the client's file has it. */
  readonly original: string
  /** As our files can have it. */
  readonly name: string
  readonly entry: WrittenEntry
}

export interface FilePlan {
  readonly after: string
  readonly taken: readonly TakenServer[]
  /** Servers that stay in the client's file, because they cannot be converted. */
  readonly left: readonly string[]
  readonly notes: readonly ImportNote[]
}

/** `undefined` when the file holds no server to take over. */
export function planFile(
  client: AdoptableClient,
  before: string,
  own: WrittenEntry,
  file: string,
): FilePlan | undefined {
  const document = client.syntax === 'toml' ? parseToml(before) : parseJson(before)
  const path = client.serversAt(document)
  const servers = valueAt(document, path)
  if (!isObject(servers)) return undefined
  const taken: TakenServer[] = []
  const left: string[] = []
  const notes: ImportNote[] = []
  for (const [original, value] of Object.entries(servers)) {
    const alone = client.convert(withOnly(document, path, original, value))
    if (alone.entry && isOwnEntry(alone.entry)) continue
    notes.push(...alone.notes.filter(({ server }) => server !== undefined))
    if (alone.entry && alone.name !== undefined)
      taken.push({ original, name: alone.name, entry: alone.entry })
    else left.push(original)
  }
  if (taken.length === 0) return undefined
  return { after: rewrite(client, before, path, taken, own, file), taken, left, notes }
}

function rewrite(
  client: AdoptableClient,
  before: string,
  path: readonly string[],
  taken: readonly TakenServer[],
  own: WrittenEntry,
  file: string,
): string {
  const printed = client.print(OWN_NAME, own)
  const names = taken.map(({ original }) => original)
  if (client.syntax === 'toml') return replaceTables(before, path.join('.'), names, printed.text, file)
  const emptied = names.reduce(
    (text, name) => editText(text, { do: 'remove', path: [...path, name] }, file),
    before,
  )
  return editText(emptied, { do: 'set', path: [...path, OWN_NAME], value: printed.value }, file)
}

/** The document with one server; what stands beside the servers (VS Code's inputs) stays. */
function withOnly(document: JsonObject, path: readonly string[], name: string, value: unknown): JsonObject {
  const [key = '', ...rest] = path
  const inner = document[key]
  if (rest.length === 0) return { ...document, [key]: { [name]: value } }
  return { ...document, [key]: withOnly(isObject(inner) ? inner : {}, rest, name, value) }
}
