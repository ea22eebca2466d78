// options.ts: the options for opening a board: where its servers come from, one way of three, and how it behaves.
// Everything is optional; a missing handler is not served.
import type { BuiltinServer } from '../builtin/index.ts'
import type { ServerInput } from '../config/entry.ts'
import type { Configuration, LoadOptions } from '../config/load.ts'
import type { PermissionRule } from '../config/resolve.ts'
import type { AuditSettings } from '../config/settings.ts'
import type { ConfiguredServer } from '../config/types.ts'
import type { ToolDefinition } from '../connection/lists.ts'
import type { ConnectionOptions } from '../connection/options.ts'
import type { ConnectionPool } from '../connection/pool.ts'
import type { Transport } from '../connection/server-info.ts'
import type { RequestHandlers } from '../connection/server-requests.ts'
import type { Host } from '../host.ts'
import type { ElicitationPorts, Hook, SamplingOptions } from '../interaction/index.ts'
import type { AuditListener, Caller, PermissionAnswer, PermissionQuestion } from '../permissions/index.ts'
import type { CallPreview } from '../text/question-text.ts'
import type { GivenServers } from './programmatic-servers.ts'

/** A server in this process: it gets one end of a linked pair, a new one for every connect. */
export type InProcessServer = (end: Transport) => unknown

/** A message between the board and one of its servers. */
export interface ProtocolMessage {
  readonly server: string
  /** Each connection of the board has its number. */
  readonly connection: number
  readonly from: 'client' | 'server'
  readonly message: unknown
}

/**
 * What `openBoard` takes: where the servers come from, and how the board behaves.
 *
 * @example
 * const options: BoardOptions = {
 *   servers: { memory: { command: 'mcp-server-memory' } }, // or `cwd` for those of the files
 *   rules: { allow: ['memory.read_graph'], deny: ['memory.delete_*'] },
 *   ask: async ({ request }) => (request.tool === 'create_entities' ? 'once' : 'no'),
 * }
 * await using own = await openBoard(options)
 * console.log(own.servers().map(({ name }) => name)) // [ 'memory' ]
 */
export type BoardOptions = BoardBehaviour & (FromFiles | FromConfiguration | FromProgram)

/** The servers of the files found from a folder. */
export interface FromFiles {
  readonly cwd?: string
  /** More servers in file syntax, and other options that `plugboard` accepts on its command line. */
  readonly config?: Pick<LoadOptions, 'mcpConfig' | 'strict' | 'approveProject' | 'withoutBuiltins'> & {
    /** Servers beside those of the files; a wrong entry is refused with its path. */
    readonly servers?: Readonly<Record<string, ServerInput>>
  }
  readonly configuration?: undefined
  readonly servers?: undefined
  readonly load?: undefined
}

/** A configuration that has been read already. It knows how it was loaded, so no other loading option applies. */
export interface FromConfiguration {
  readonly configuration: Configuration
  readonly cwd?: undefined
  readonly config?: undefined
  readonly servers?: undefined
  readonly load?: undefined
}

/** The servers that the program defines itself; then no file is read. */
export interface FromProgram {
  readonly cwd?: string
  /**
   * The servers by name, each as in a settings file. A wrong entry is refused with its path. (A list of configured
   * servers, as `loadConfiguration` returns them, is taken too.)
   *
   * @example
   * await openBoard({ servers: { memory: { command: 'mcp-server-memory' }, docs: { url: 'https://example.com/mcp' } } })
   */
  readonly servers?: GivenServers
  /** Where the other servers come from: called once, after `servers`, whose names win. */
  readonly load?: (() => Promise<GivenServers>) | undefined
  readonly configuration?: undefined
  readonly config?: undefined
}

/** The parts of a board, once its servers are known. */
export type BoardParts = Omit<BoardBehaviour, 'rules'> & {
  readonly cwd?: string | undefined
  readonly servers?: readonly ConfiguredServer[]
  readonly rules?: readonly PermissionRule[]
}

/** Permission rules by what they do, or a list as a configuration has them. */
export type GivenRules =
  | readonly PermissionRule[]
  | {
      readonly allow?: readonly string[]
      readonly ask?: readonly string[]
      readonly deny?: readonly string[]
    }

/** How a board behaves, wherever its servers come from. */
export interface BoardBehaviour {
  readonly host?: Host
  /** Follow the files and logins: servers that are added, changed or removed start, restart and stop. */
  readonly watch?: boolean
  readonly inProcess?: Readonly<Record<string, InProcessServer>>
  /**
   * Built-in servers by name: `true` or `false` switches one of ours, an object is a server of the program with a list of
   * the tools that it allows. What an administrator's settings and the user's rules deny stays denied.
   *
   * @example
   * await openBoard({ builtins: { codebase: false, db: { create: makeServer, allow: ['query'] } } })
   */
  readonly builtins?: Readonly<Record<string, boolean | BuiltinServer>>
  /**
   * Called for every message of the protocol, as it is sent to a server or arrives from one.
   *
   * @example
   * await openBoard({ onMessage: ({ server, from, message }) => log.debug({ server, from, message }) })
   */
  readonly onMessage?: (message: ProtocolMessage) => void
  /** Transports of `sdk` entries, by name. */
  readonly handOver?: (name: string) => Promise<Transport> | Transport | undefined
  /**
   * Why a built-in server requires a prompt for these arguments, if so; set by the built-ins, when the board has
   * them.
   */
  readonly builtinAsks?: (
    server: string,
    tool: string,
    args: Readonly<Record<string, unknown>>,
  ) => Promise<string | undefined>
  /** What a call of a built-in server would do, for the prompt; set by the built-ins. */
  readonly builtinPreview?: (
    server: string,
    tool: string,
    args: Readonly<Record<string, unknown>>,
  ) => Promise<CallPreview | undefined>
  /** The tools that a built-in server allows by its own list; set by the built-ins. */
  readonly builtinAllows?: (server: ConfiguredServer) => readonly string[] | undefined
  readonly auth?: (server: ConfiguredServer) => ConnectionOptions['auth']
  /** The caller when a call does not say: `agent` (the user is prompted), `user` (typing it is consent) or `client`. */
  readonly caller?: Caller
  /** Prompts the user for permission to call a tool. Without it no user is present, and `ask` becomes a denial. */
  readonly ask?: (question: PermissionQuestion) => Promise<PermissionAnswer>
  /** A served board that prompts its own user too, whatever its client does. */
  readonly askForClients?: boolean
  /** How much of the audit log is kept; by default what the settings files say, when the board reads them. */
  readonly audit?: AuditSettings
  /** Gets every line of the audit log, for programs that send it elsewhere. */
  readonly onAudit?: AuditListener
  /**
   * Permission rules of the program, added to those of the settings files when the board reads them. A `deny` always
   * wins, so no rule here can take back one of the user's.
   *
   * @example
   * await openBoard({ rules: { allow: ['mcp__memory__search_nodes'], deny: ['mcp__files'] } })
   */
  readonly rules?: GivenRules
  /**
   * Saves an "always" as an allow rule for the server with this signature, and returns where; by default your
   * settings for the project, when the board reads files.
   */
  readonly saveRule?: (rule: string, signature?: string) => Promise<string>
  /** The file that `saveRule` writes to, so that a prompt can name it. */
  readonly ruleFile?: string
  /** Shows a server's elicitation (a form, or a page to open) to the user. */
  readonly elicit?: ElicitationPorts['ask']
  /** Lets servers use a model, with the user's consent and within limits. */
  readonly sample?: Omit<SamplingOptions, 'host'>
  /** The folders announced to servers as roots; the workspace, when left out. */
  readonly roots?: readonly string[] | false
  /** Code around calls and elicitations, after the hooks of the settings files. */
  readonly hooks?: readonly Hook[]
  /** Handlers for servers' requests in the protocol's own terms; they win over `elicit`, `sample` and `roots`. */
  readonly requestHandlers?: RequestHandlers | ((server: ConfiguredServer) => RequestHandlers)
  readonly clientInfo?: { readonly name: string; readonly version: string }
  /** Folders an editor's server must have open. */
  readonly workspace?: readonly string[]
  readonly stateDir?: string
  /** Servers that this board shares with others of the process, where their entries allow it. */
  readonly pool?: ConnectionPool
  /** Boards share a server only if this is equal; set from the logins of the settings, when the board reads files. */
  readonly poolIdentity?: string
  /**
   * Keeps what servers list in the state folder, and knows it at once the next time: `tools()`, `toolsFor()` and the lists
   * of a served board answer before any server has started. A call starts its server and uses what that lists now; a list
   * that differs is a `list-changed` event.
   *
   * @example
   * await using board = await openBoard({ catalog: true })
   * board.tools() // those of the last time; `board.link.unlisted()` are the servers that were never connected
   */
  readonly catalog?: boolean
  /** The timeout of a connect; otherwise `connectTimeout` of the entry, or `MCP_TIMEOUT`. */
  readonly timeoutMs?: number
}

/** A tool as its server defines it. */
export interface BoardDefinition {
  readonly server: string
  readonly tool: ToolDefinition
  /** False while the server is away: the definition is the last known one. */
  readonly available: boolean
}
