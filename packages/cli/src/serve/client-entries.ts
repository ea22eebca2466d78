// client-entries.ts: what a user pastes into a client so that it uses an endpoint of `serve --http`: one row a client.

export interface ServedAddress {
  readonly url: string
  /** What clients send as bearer token; undefined where none is asked for. */
  readonly token?: string | undefined
}

/** Stands for a token that is known to the user alone. */
export const YOUR_TOKEN = 'YOUR_TOKEN'

interface ClientEntry {
  readonly client: string
  /** Where it goes; a command goes to a shell. */
  readonly place: string
  text(address: ServedAddress): string
}

const headers = ({ token }: ServedAddress) => (token ? { headers: { Authorization: `Bearer ${token}` } } : {})

const ENTRIES: readonly ClientEntry[] = [
  {
    client: 'Claude Code',
    place: 'in a shell',
    text: ({ url, token }) =>
      `claude mcp add --transport http board ${url}${token ? ` --header "Authorization: Bearer ${token}"` : ''}`,
  },
  {
    client: 'Cursor',
    place: '~/.cursor/mcp.json',
    text: (address) => JSON.stringify({ mcpServers: { board: { url: address.url, ...headers(address) } } }),
  },
  {
    client: 'VS Code',
    place: '.vscode/mcp.json',
    text: (address) =>
      JSON.stringify({ servers: { board: { type: 'http', url: address.url, ...headers(address) } } }),
  },
  {
    client: 'Codex',
    place: '~/.codex/config.toml',
    text: ({ url, token }) =>
      [
        '[mcp_servers.board]',
        `url = ${JSON.stringify(url)}`,
        ...(token ? [`http_headers = { Authorization = ${JSON.stringify(`Bearer ${token}`)} }`] : []),
      ].join('\n'),
  },
]

/** One paragraph for each client. */
export function clientEntries(address: ServedAddress): string {
  return ENTRIES.map(({ client, place, text }) => {
    const lines = text(address).split('\n')
    return [`${client} (${place}):`, ...lines.map((line) => `  ${line}`)].join('\n')
  }).join('\n')
}
