// gateway-options.ts: what a gateway is opened with, by programs and by `plugboard serve`. gateway.ts says what each of it does.
import type { Exposure } from './access/exposure.ts'
import type { CallLimits } from './call-limits/call-limits.ts'
import type { IsolationConfig } from './config/schema.ts'
import type { Json } from './json-rpc.ts'
import type { GatewayLimits } from './limits.ts'
import type { AccessEntry } from './operation/observe-call.ts'
import type { OwnTool } from './own-tool.ts'
import type { Replicas } from './replicas/replicas.ts'
import type { ResultStore } from './results/result-store.ts'
import type { AskPolicy } from './routing/server-requests.ts'
import type { KeyRing } from './sealing/key-ring.ts'
import type { SpentRecord } from './sealing/spent-ids.ts'
import type { UserLogins } from './user-logins/user-logins.ts'
import type { NameStore } from './views/name-claims.ts'
import type { SearchThreshold, ServeMode } from './views/search-mode.ts'
import type { ToolOverride } from './views/tool-overrides.ts'
import type { ToolVectors } from './views/tool-vectors.ts'
import type { Naming } from './views/views.ts'

/**
 * How a gateway presents its board to clients.
 *
 * @example
 * const options: GatewayOptions = { mode: 'search', names: 'server.tool', select: true, large: 'reference' }
 * const gateway = await openGateway((wiring) => openBoard({ servers: {}, ...wiring }), options)
 * await gateway.close()
 */
export interface GatewayOptions {
  /** List every tool, or three tools to search and call them; `auto` decides by what the definitions cost. */
  readonly mode?: ServeMode
  /** From when on `auto` lists the search tools. */
  readonly searchAbove?: Partial<SearchThreshold>
  /** Tools that are listed in search mode too, beside those that entries load always. */
  readonly always?: Exposure
  /** Search mode finds tools by meaning too, once their vectors are there. The gateway closes it. */
  readonly vectors?: ToolVectors | undefined
  /** How tools and prompts are called: `mcp__server__tool`, `server.tool`, or as the server calls them. */
  readonly names?: Naming
  /** How the settings say that single tools are shown, by `server.tool` or a pattern. */
  readonly tools?: Readonly<Record<string, ToolOverride>>
  /** Every tool takes `_select`, a JMESPath expression for the part of its result that is wanted. */
  readonly select?: boolean
  /** Large results are passed on whole, or stay here to be read in parts. In search mode they always stay. */
  readonly large?: 'whole' | 'reference'
  /** Where large results stay; in memory unless it has a folder. */
  readonly results?: ResultStore
  /** Who confirms calls under an `ask` rule: the client by its own means, the user by elicitation, or none (deny). */
  readonly ask?: AskPolicy
  /** What clients without an exposure of their own see. */
  readonly expose?: Exposure
  /** What clients may hold, and how long; defaults where left out. */
  readonly limits?: Partial<GatewayLimits>
  /** Seals session ids and `requestState`; without it they are worthless after a restart. */
  readonly keys?: KeyRing
  /** Remembers ids that must not be used again; with a file, also for the next process. */
  readonly spent?: SpentRecord
  /** How many calls users may make. */
  readonly callLimits?: CallLimits
  /** Servers that users, or sessions, have for themselves. */
  readonly isolation?: IsolationConfig
  /** Servers to which users log in themselves, each with an instance. */
  readonly userLogins?: UserLogins
  /** Gets a line for every call. */
  readonly accessLog?: (entry: AccessEntry) => void
  /** The other gateways behind the same address, with which this one shares sessions, questions and news. */
  readonly replicas?: Replicas
  /** Where names are kept for the next process, for naming schemes in which two servers can want the same one. */
  readonly nameStore?: NameStore
  /** `unlisted`: servers whose lists the board's catalog knows start when they are called. */
  readonly start?: 'all' | 'unlisted'
  /** Tools of the program itself, beside those of the servers. */
  readonly ownTools?: readonly OwnTool[]
  /** The roots that servers are given while no client's call is running. */
  readonly roots?: () => Json
}
