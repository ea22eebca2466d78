// decision-types.ts: a permission request for a tool call or a resource read, and the type of a decision. Every decision
// says which rule made it and which file that rule is in.

import type { CallPreview } from '../text/question-text.ts'

/** The behaviour a server claims for its tool; a missing claim has already become the worst case. */
export interface ClaimedTraits {
  readonly readOnly: boolean
  readonly destructive: boolean
}

export interface ToolRequest {
  /** What a built-in server says that the call would do. */
  readonly preview?: CallPreview | undefined
  readonly server: string
  /** The server's own name for the tool. */
  readonly tool: string
  /** The name the model sees, from the registry. */
  readonly name: string
  readonly traits: ClaimedTraits
  /** The server's title for the tool, where it has one. */
  readonly title?: string | undefined
  /** Whether the server itself says that the tool is destructive, unlike a missing claim that became the worst case. */
  readonly saysDestructive?: boolean | undefined
  /** How its definition differs from the accepted one, line by line; then only the user can allow it. */
  readonly changes?: readonly string[] | undefined
  /** For a resource to read or subscribe to instead of a tool; `tool` is then its address. */
  readonly resource?: boolean
  /** For a prompt to get or complete instead of a tool; `tool` is then its name. */
  readonly prompt?: boolean
  /** The arguments of the call, where they are known. */
  readonly arguments?: Readonly<Record<string, unknown>> | undefined
  /** A built-in server, which has its own list of allowed tools. */
  readonly builtin?:
    | {
        readonly allowedTools: readonly string[]
        /** Why its list does not cover this call, because of the arguments. */
        readonly asks?: string | undefined
      }
    | undefined
}

export type PermissionOutcome = 'allow' | 'ask' | 'deny'

/** What made a decision, as text and as a location. */
export interface Reason {
  readonly kind:
    | 'channel'
    | 'rule'
    | 'builtin'
    | 'default'
    | 'grant'
    | 'user'
    | 'client'
    | 'no-user'
    | 'hook'
    | 'changed'
  /** One sentence without the final stop, e.g. `the rule "mcp__git__*" denies it`. */
  readonly text: string
  /** The file or label that contains the rule. */
  readonly source?: string
  readonly rule?: string
}

/** Whether a call may be made, and why. */
export interface Decision {
  readonly outcome: PermissionOutcome
  readonly reason: Reason
}
