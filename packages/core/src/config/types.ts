// types.ts: the types that the configuration pipeline and every later layer share.
import type { ConfigurationFault } from '../events.ts'
import type { ServerEntry } from './entry.ts'

/** Where a definition comes from, strongest first. `enterprise`, when present, is exclusive. */
export const SCOPES = [
  'enterprise',
  'dynamic',
  'local',
  'project',
  'user',
  'plugin',
  'managed',
  'claudeai',
] as const
/** Where an entry was written: for this folder, the project, the user … */
export type Scope = (typeof SCOPES)[number]

/** One fault in one place, for the user to fix; `file` may also be a URL or a label. */
export interface Diagnostic extends ConfigurationFault {
  /** About permission rules: every command reports an error among them, `list` and `doctor` a warning. */
  readonly topic?: 'rules'
}

/** Why a server is disabled. */
export type DisabledReason =
  | { readonly kind: 'config'; readonly text: string }
  | { readonly kind: 'user'; readonly text: string }
  | { readonly kind: 'trust'; readonly text: 'pending approval' }
  | { readonly kind: 'policy'; readonly text: string }
  | { readonly kind: 'suppressed'; readonly text: string; readonly by: string }

/** A server as the rest of the program sees it: one name, one winner, every verdict given. */
export interface ConfiguredServer {
  readonly name: string
  readonly scope: Scope
  /** The file or label that won. */
  readonly source: string
  /** Variables expanded; ready to open. */
  readonly entry: ServerEntry
  /** Identifies the server whatever its name: equal signatures are the same server. */
  readonly signature: string
  readonly disabled?: DisabledReason
  /**
   * `repository`: the entry lies inside the project folder and the user's home has no record that the user wrote it. An
   * approval lets it start; it does not make it the user's. Absent for entries of an embedding program: the user's.
   */
  readonly author?: 'user' | 'repository'
  /** The file of the user's own server of the same name, when this repository entry replaces it. */
  readonly replaces?: string
}
