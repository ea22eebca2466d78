// client-format.ts: the frame that all clients' formats share: read the document, convert each server, and the way back. A
// client says what is its own: where its servers stand, how it spells variables, and what an entry of it can say.
import type { Fields } from './fields.ts'
import {
  type Ability,
  convertEach,
  noteOthers,
  printJson,
  readOurs,
  serverMap,
  type Target,
  type Written,
} from './servers.ts'
import { type JsonObject, parseJson } from './tree.ts'
import type { ClientFormat, ImportNote } from './types.ts'
import type { VariableStyle } from './variables.ts'

type Entries = readonly (readonly [string, unknown])[]
type Entry = Record<string, unknown>

export interface ClientSpec extends Pick<ClientFormat, 'id' | 'title' | 'files'>, Pick<Target, 'rawMaps'> {
  /** What an entry of the client can say. */
  readonly can: readonly Ability[]
  readonly style: VariableStyle
  /** JSON with comments unless it says otherwise. */
  readonly syntax?: { parse(text: string): JsonObject; print(document: object): string }
  /** How strings of one document are read, where that depends on the document; its notes come first. */
  reading?(
    document: JsonObject,
    notes: ImportNote[],
  ): { readonly style: VariableStyle; notes(): readonly ImportNote[] }
  /** The servers of its document. */
  servers(document: JsonObject, notes: ImportNote[]): Entries
  /** One entry of the client as one of ours. */
  readEntry(fields: Fields): Entry
  /** One of ours, reduced to what the client can say, as an entry of the client. */
  printEntry(ours: Written, fields: Fields): Entry
  /** The document around the printed servers; `mcpServers` unless it says otherwise. */
  document?(servers: Readonly<Entry>, disabled: readonly string[]): object
}

const JSON_SYNTAX = { parse: parseJson, print: printJson }

export function clientFormat(spec: ClientSpec): ClientFormat {
  const { id, title, style, syntax = JSON_SYNTAX } = spec
  const target: Target = { title, can: spec.can, ...(spec.rawMaps && { rawMaps: true }) }
  return {
    id,
    title,
    files: spec.files,

    parse(text) {
      const notes: ImportNote[] = []
      const document = syntax.parse(text)
      const found = spec.servers(document, notes)
      const reading = spec.reading?.(document, notes)
      const servers = convertEach(found, notes, (reading?.style ?? style).read, spec.readEntry)
      return { servers, notes: reading ? [...reading.notes(), ...notes] : notes }
    },

    print(servers) {
      const notes: ImportNote[] = []
      const disabled: string[] = []
      const out = convertEach(servers, notes, style.print, (fields) => {
        const ours = readOurs(fields, target)
        if (ours?.disabled) disabled.push(fields.server)
        return ours && spec.printEntry(ours, fields)
      })
      const printed = Object.fromEntries(out)
      return {
        text: syntax.print(spec.document?.(printed, disabled) ?? { mcpServers: printed }),
        notes,
      }
    },
  }
}

/** The servers of a file that is about servers only; its other keys are noted. */
export function onlyMcpServers(document: JsonObject, notes: ImportNote[]): Entries {
  noteOthers(document, ['mcpServers'], notes)
  return serverMap(document.mcpServers, 'mcpServers', notes)
}
