// clients.ts: what adopting needs to know of each client beyond its format: where the servers stand in its document. Claude
// Code is here too: its file has our own format, so it needs no import, but it can be adopted.
import { stringify } from 'smol-toml'
import {
  CLIENTS,
  type ClientFile,
  type ClientMachine,
  type ImportNote,
  type WrittenEntry,
} from '../import/index.ts'
import { isObject, type JsonObject, parseJson, parseToml } from '../import/tree.ts'
import { pathOf } from '../import/vscode-family.ts'

export interface AdoptableClient {
  readonly id: string
  readonly title: string
  readonly syntax: 'json' | 'toml'
  files(machine: ClientMachine): readonly ClientFile[]
  /** The path of the object that holds the servers. */
  serversAt(document: JsonObject): readonly string[]
  /** A document of the client with one server, as one of ours; `undefined` with notes when it cannot be converted. */
  convert(document: JsonObject): {
    readonly entry?: WrittenEntry
    readonly name?: string
    readonly notes: readonly ImportNote[]
  }
  /** One of our entries as the client writes it. */
  print(name: string, entry: WrittenEntry): { readonly text: string; readonly value: unknown }
}

const claudeCode: AdoptableClient = {
  id: 'claude-code',
  title: 'Claude Code',
  syntax: 'json',
  files: (place) => [{ path: pathOf(place).join(place.home, '.claude.json'), scope: 'user' }],
  serversAt: () => ['mcpServers'],
  convert(document) {
    const [first] = Object.entries(isObject(document.mcpServers) ? document.mcpServers : {})
    if (!first || !isObject(first[1])) return { notes: [] }
    return { name: first[0], entry: first[1], notes: [] }
  },
  print: (_name, entry) => {
    const value = { type: 'stdio', ...entry }
    return { text: JSON.stringify(value), value }
  },
}

const SERVERS_AT: Readonly<Record<string, (document: JsonObject) => readonly string[]>> = {
  codex: () => ['mcp_servers'],
  vscode: (document) =>
    document.servers === undefined && isObject(document.mcp)
      ? ['mcp', 'servers']
      : document.servers === undefined && document.mcpServers !== undefined
        ? ['mcpServers']
        : ['servers'],
  opencode: ({ mcp }) =>
    isObject(mcp) && isObject(mcp.servers) && typeof mcp.servers.type !== 'string'
      ? ['mcp', 'servers']
      : ['mcp'],
}

export const ADOPTABLE: readonly AdoptableClient[] = [
  claudeCode,
  ...CLIENTS.map((client): AdoptableClient => {
    const syntax = client.id === 'codex' ? 'toml' : 'json'
    const parse = syntax === 'toml' ? parseToml : parseJson
    const serversAt = SERVERS_AT[client.id] ?? (() => ['mcpServers'])
    return {
      id: client.id,
      title: client.title,
      syntax,
      files: (machine) => client.files(machine),
      serversAt,
      convert(document) {
        const { servers, notes } = client.parse(
          syntax === 'toml' ? stringify(document) : JSON.stringify(document),
        )
        const [first] = servers
        return { notes, ...(first && { name: first[0], entry: first[1] }) }
      },
      print(name, entry) {
        const { text } = client.print(new Map([[name, entry]]))
        const document = parse(text)
        return { text, value: valueAt(document, [...serversAt(document), name]) }
      },
    }
  }),
]

export function valueAt(document: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined),
    document,
  )
}
