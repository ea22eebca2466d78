// types.ts: what the resident process tells a page, as the page reads it.
import type { LogLine, ServerSnapshot, TrafficEntry } from '@plugboard/core'

export type { LogLine, TrafficEntry }

export interface Failure {
  readonly code: string
  readonly message: string
  readonly hint?: string
  readonly stage?: string
}

export type Server = Omit<ServerSnapshot, 'error'> & { readonly error?: { readonly $error: Failure } }

export interface ToolLine {
  readonly name: string
  readonly server: string
  readonly tool: string
  readonly title?: string
  readonly description: string
  readonly readOnly: boolean
  readonly destructive: boolean
  readonly available: boolean
  readonly permission: 'allow' | 'ask' | 'deny'
  readonly tokens: number
}

export type Json = Readonly<Record<string, unknown>>

export interface ToolDefinition {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: Json
  readonly outputSchema?: Json
  readonly annotations?: Json
  /** `_meta` of the server's definition. */
  readonly meta?: Json
}

export interface WireTool {
  readonly name: string
  readonly server: string
  readonly definition: ToolDefinition
  readonly available: boolean
  readonly decision: {
    readonly outcome: 'allow' | 'ask' | 'deny'
    readonly reason: { readonly text: string }
  }
}

export interface PageInfo {
  readonly version: string
  readonly pid: number
  readonly startedAt: number
  readonly cwd: string
  /** The environment of the terminal is not known any more. */
  readonly isRestored: boolean
  readonly appOrigin: string
}

export interface Fault {
  readonly severity: 'error' | 'warning'
  readonly file: string
  readonly line?: number
  readonly path?: string
  readonly server?: string
  readonly message: string
  readonly hint?: string
}

export interface Question {
  readonly id: number
  readonly kind: 'permission' | 'elicitation' | 'consent'
  readonly server: string
  readonly from: 'terminal' | 'page' | 'client'
  /** What the client that asks calls itself. */
  readonly who?: string
  readonly at: number
  readonly question: Json
}

export interface Pending {
  readonly name: string
  readonly hash: string
  readonly file: string
  readonly written: unknown
  readonly because: string
  readonly replaces?: string
}

export interface Notice {
  readonly id: number
  readonly text: string
  readonly tone: 'info' | 'good' | 'bad'
}
