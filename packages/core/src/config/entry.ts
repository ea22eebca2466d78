// entry.ts: one server entry after it was read, checked and normalised. schema.ts turns what the user wrote into
// this; every later layer uses only this.

/** How a server is reached. */
export type TransportType = 'stdio' | 'http' | 'sse' | 'ws' | 'sse-ide' | 'ws-ide' | 'sdk' | 'claudeai-proxy'

export interface ReconnectSettings {
  readonly maxAttempts?: number
  readonly delayMs?: number
  readonly retryMs?: number
}

export type PermissionMode = 'allow' | 'ask' | 'deny'

/** What the server's own channel may be used for; the rules of the settings files apply after it. */
export interface ChannelPermissions {
  readonly allowedTools?: readonly string[]
  readonly deniedTools?: readonly string[]
  readonly allowedResources?: readonly string[]
  readonly readPermission?: PermissionMode
  readonly writePermission?: PermissionMode
}

export interface OAuthSettings {
  readonly clientId?: string
  readonly callbackPort?: number
  readonly authServerMetadataUrl?: string
  readonly scopes?: readonly string[]
  /** Single sign-on through the company's identity provider instead of a login of its own. */
  readonly xaa?: boolean
}

/** One instance for all of the user's boards, for those of one project, or for one board alone. */
export type Share = 'user' | 'project' | 'session'

interface Common {
  /** Milliseconds one request may take. */
  readonly timeout?: number
  /** Milliseconds a connect may take, instead of those of MCP_TIMEOUT. */
  readonly connectTimeout?: number
  readonly disabled?: boolean
  readonly reconnect?: ReconnectSettings
  readonly permissions?: ChannelPermissions
  /** Tools that are always sent to the model, whatever the budget: all of them, or the listed ones. */
  readonly alwaysLoad?: boolean | readonly string[]
  /** Tools that may run in parallel with other calls to the server although they write, by name or with `*`. */
  readonly concurrentTools?: readonly string[]
  readonly description?: string
  /** The roots announced to the server: none, or these. Otherwise the workspace and the folders in `args`. */
  readonly roots?: false | readonly string[]
  /** In the resident process: which boards may use one instance of the server. sharing.ts has the default. */
  readonly share?: Share
}

export interface StdioEntry extends Common {
  readonly type: 'stdio'
  readonly command: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd?: string
  /** Pass the parent's whole environment instead of the short list. */
  readonly inheritEnv?: boolean
}

interface Remote extends Common {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** A command whose standard output is a JSON object of headers. */
  readonly headersHelper?: string
  /** The folder the helper starts in; resolve.ts sets it, no file can. */
  readonly helperCwd?: string
  readonly oauth?: OAuthSettings
}

export interface HttpEntry extends Remote {
  readonly type: 'http'
  /** The entry had a `url` and no `type`: try Streamable HTTP, then legacy SSE when the server responds with 4xx. */
  readonly fallbackToSse?: boolean
}
export interface SseEntry extends Remote {
  readonly type: 'sse'
}
export interface WsEntry extends Remote {
  readonly type: 'ws'
}
/** An editor's server, found by its lock file unless `url` names it. */
export interface IdeEntry extends Common {
  readonly type: 'sse-ide' | 'ws-ide'
  readonly url?: string
  readonly ideName?: string
  readonly headers: Readonly<Record<string, string>>
}
/** Passed in by the embedding program, by name. */
export interface SdkEntry extends Common {
  readonly type: 'sdk'
  /** The name under which the program passes it in, where that is not the entry's own. */
  readonly name?: string
}
export interface ProxyEntry extends Remote {
  readonly type: 'claudeai-proxy'
}

export type RemoteEntry = HttpEntry | SseEntry | WsEntry | ProxyEntry
/** An entry of a configuration, checked and complete. */
export type ServerEntry = StdioEntry | RemoteEntry | IdeEntry | SdkEntry

/**
 * A server as a program writes it: as in a settings file. What may be left out there may be left out here.
 *
 * @example
 * const servers: Record<string, ServerInput> = {
 *   memory: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-memory'], env: { DEBUG: '1' } },
 *   docs: { url: 'https://example.com/mcp', headers: { Authorization: 'Bearer …' }, disabled: true },
 * }
 * await using own = await openBoard({ servers })
 * console.log(own.servers().map(({ name, type }) => `${name} ${type}`)) // [ 'memory stdio', 'docs http' ]
 */
export type ServerInput = CommandInput | RemoteInput

/** A server that is started as a process, as a program writes it. */
export interface CommandInput extends Common, Pick<StdioEntry, 'command' | 'cwd' | 'inheritEnv'> {
  readonly type?: 'stdio'
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly url?: undefined
}

/** A server that is reached by its URL, as a program writes it. */
export interface RemoteInput extends Common, Pick<Remote, 'url' | 'headersHelper' | 'oauth'> {
  readonly type?: 'http' | 'sse' | 'ws'
  readonly headers?: Readonly<Record<string, string>>
  readonly command?: undefined
}
