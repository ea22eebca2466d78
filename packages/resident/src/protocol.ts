// protocol.ts: the control protocol between commands and the resident process: JSON-RPC 2.0, one message a line. Types
// and constants only; json-rpc-socket.ts moves the messages, board-encoding.ts turns objects into them.
import type { Diagnostic } from '@plugboard/core/config'
import type { ErrorJson } from '@plugboard/core/errors'

/** Raised when an old client and a new process, or the other way round, would misunderstand each other. */
export const PROTOCOL = 1

export interface HelloParams {
  readonly protocol: number
  readonly version: string
  /** The content of the token file: proof that the client can read the user's files. */
  readonly token: string
}

export interface HelloResult {
  readonly protocol: number
  readonly version: string
  readonly pid: number
  /** Milliseconds since the epoch. */
  readonly startedAt: number
}

/** The first line that a client of `board/mcp` gets; MCP follows unless it says `why` not. */
export interface McpResult {
  readonly version: string
  readonly why?: string
}

/** What a client can be asked. What is missing here is not offered to servers. */
export interface Askable {
  readonly elicit?: boolean
  readonly sample?: boolean
  readonly ask?: boolean
}

export interface OpenParams {
  readonly cwd: string
  /** The whole environment of the terminal: entries are expanded with it, and servers inherit from it. */
  readonly env: Readonly<Record<string, string>>
  readonly mcpConfig?: readonly string[]
  readonly strict?: boolean
  readonly approveProject?: boolean
  /** Built-in servers that the command switches on. */
  readonly builtins?: Readonly<Record<string, boolean>>
  /** Servers of this client alone, in file syntax. */
  readonly servers?: Readonly<Record<string, unknown>>
  readonly timeoutMs?: number
  readonly caller: 'user' | 'agent'
  /** Follow the files: for a client that stays. */
  readonly watch?: boolean
  readonly asks: Askable
  /** For a client of `connect`: who confirms calls under an `ask` rule. With `elicit` the pages of the board are asked too. */
  readonly confirms?: 'client' | 'elicit' | 'deny'
}

export type OpenResult =
  | {
      readonly kind: 'opened'
      readonly stateDir: string
      readonly diagnostics: readonly Diagnostic[]
      /** Every server, as `board/state` has them. */
      readonly servers: readonly unknown[]
    }
  /** The client has to open its own board. */
  | { readonly kind: 'refused'; readonly why: string }

/** Variables that Node reads when it starts: a process that started with others cannot take them on. */
export const NODE_VARIABLES = [
  'NODE_OPTIONS',
  'NODE_EXTRA_CA_CERTS',
  'NODE_TLS_REJECT_UNAUTHORIZED',
  'NODE_USE_ENV_PROXY',
  'SSL_CERT_FILE',
  'SSL_CERT_DIR',
] as const

/** An error of our family, with what its class adds. */
export interface WireError extends ErrorJson {
  /** The hint in the words of the command. */
  readonly shellHint?: string
  readonly wanted?: string
  readonly tool?: string
  readonly wider?: boolean
  /** In a JSON-RPC error that a server answered with: its own code. */
  readonly answered?: boolean
}

export interface StatusResult {
  readonly pid: number
  readonly version: string
  readonly startedAt: number
  readonly clients: number
  readonly memoryBytes: number
  readonly servers: readonly ServerStatus[]
}

export interface ServerStatus {
  readonly name: string
  readonly state: string
  readonly pid?: number
  readonly share: 'user' | 'project' | 'session'
  readonly users: number
  readonly calls: number
  readonly idleMs: number
  readonly root: string
}
