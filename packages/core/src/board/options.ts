// options.ts: what a program may give a board when it opens one: where its servers come from, one way of three, and how
// it behaves. Everything is optional; what is missing is not served.
import type { Configuration, LoadOptions } from '../config/load.ts'
import type { PermissionRule } from '../config/resolve.ts'
import type { AuditSettings } from '../config/settings.ts'
import type { ConfiguredServer } from '../config/types.ts'
import type { ToolDefinition } from '../connection/lists.ts'
import type { ConnectionOptions } from '../connection/options.ts'
import type { Transport } from '../connection/server-info.ts'
import type { RequestHandlers } from '../connection/server-requests.ts'
import type { Host } from '../host.ts'
import type { ElicitationPorts, Hook, SamplingOptions } from '../interaction/index.ts'
import type { Caller, PermissionAnswer, PermissionQuestion } from '../permissions/index.ts'

/** A server in this very process: it is given one end of a linked pair, anew for every connect. */
export type InProcessServer = (end: Transport) => unknown

export type BoardOptions = BoardBehaviour & (FromFiles | FromConfiguration | FromProgram)

/** The servers of the files that are found from a folder. */
export interface FromFiles {
  readonly cwd?: string
  /** More servers as they would be written in a file, and what else `plugboard` takes on its command line. */
  readonly config?: Pick<
    LoadOptions,
    'mcpConfig' | 'strict' | 'servers' | 'approveProject' | 'withoutBuiltins'
  >
  readonly configuration?: undefined
  readonly servers?: undefined
  readonly load?: undefined
}

/** A configuration that has been read already. It knows how it was loaded, so it takes no other word about that. */
export interface FromConfiguration {
  readonly configuration: Configuration
  readonly cwd?: undefined
  readonly config?: undefined
  readonly servers?: undefined
  readonly load?: undefined
}

/** The servers that the program knows itself; then no file is read. */
export interface FromProgram {
  readonly cwd?: string
  readonly servers?: readonly ConfiguredServer[]
  /** Where the other servers come from: called once, after `servers`, whose names win. */
  readonly load?: (() => Promise<readonly ConfiguredServer[]>) | undefined
  readonly configuration?: undefined
  readonly config?: undefined
}

/** What a board is made of, once its servers are known. */
export type BoardParts = BoardBehaviour & FromProgram

/** How a board behaves, wherever its servers come from. */
export interface BoardBehaviour {
  readonly host?: Host
  /** Follow the files and logins: servers that are added, changed or removed start, restart and stop. */
  readonly watch?: boolean
  readonly inProcess?: Readonly<Record<string, InProcessServer>>
  /** Transports of `sdk` entries, by name. */
  readonly handOver?: (name: string) => Promise<Transport> | Transport | undefined
  /** Why a built-in server wants the user asked about these arguments, if so; from the built-ins, when the board has them. */
  readonly builtinAsks?: (
    server: string,
    tool: string,
    args: Readonly<Record<string, unknown>>,
  ) => Promise<string | undefined>
  readonly auth?: (server: ConfiguredServer) => ConnectionOptions['auth']
  /** Who calls when a call does not say: `agent` (the user is asked), `user` (typing it is consent) or `client`. */
  readonly caller?: Caller
  /** Asks the user whether a tool may be called. Without it nobody is there to ask, and what asks is denied. */
  readonly ask?: (question: PermissionQuestion) => Promise<PermissionAnswer>
  /** A served board that asks its own user too, whatever the client in front of it does. */
  readonly askForClients?: boolean
  /** How much of the audit log is kept; the settings files say, when the board reads them. */
  readonly audit?: AuditSettings
  /** Permission rules; those of the settings files, when the board reads them. */
  readonly rules?: readonly PermissionRule[]
  /**
   * Keeps an "always" as an allow rule for the server with this signature, and says where; your settings for the project,
   * when the board reads files.
   */
  readonly saveRule?: (rule: string, signature?: string) => Promise<string>
  /** The file that `saveRule` writes to, so that a question can name it. */
  readonly ruleFile?: string
  /** Puts a server's question (a form, or a page to open) to the user. */
  readonly elicit?: ElicitationPorts['ask']
  /** Lets servers use a model, with the user's consent and within limits. */
  readonly sample?: Omit<SamplingOptions, 'host'>
  /** The folders that servers are told the work is in; the workspace, when left out. */
  readonly roots?: readonly string[] | false
  /** Code around calls and questions, after the hooks of the settings files. */
  readonly hooks?: readonly Hook[]
  /** Answers to servers' questions in the protocol's own terms; they win over `elicit`, `sample` and `roots`. */
  readonly requestHandlers?: RequestHandlers | ((server: ConfiguredServer) => RequestHandlers)
  readonly clientInfo?: { readonly name: string; readonly version: string }
  /** Folders an editor's server must have open. */
  readonly workspace?: readonly string[]
  readonly stateDir?: string
  /** How long a connect may take; `MCP_TIMEOUT` otherwise. */
  readonly timeoutMs?: number
}

/** A tool in its server's own words. */
export interface BoardDefinition {
  readonly server: string
  readonly tool: ToolDefinition
  /** False while the server is away: the definition is the last one known. */
  readonly available: boolean
}
