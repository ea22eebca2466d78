// request.ts: what is asked when a tool is about to be called or a resource read, and what a decision is.
// Every decision says which rule made it and which file that rule is in.

/** The behaviour a server claims for its tool; silence has already been read as the worst. */
export interface ClaimedTraits {
  readonly readOnly: boolean
  readonly destructive: boolean
}

export interface ToolRequest {
  readonly server: string
  /** The server's own name for the tool. */
  readonly tool: string
  /** The name the model sees, from the registry. */
  readonly name: string
  readonly traits: ClaimedTraits
  /** The server's title for the tool, where it has one. */
  readonly title?: string | undefined
  /** Whether the server says itself that the tool destroys; silence is read as the worst, and is not the same. */
  readonly saysDestructive?: boolean | undefined
  /** How its definition differs from the one that was accepted, line by line; then nothing but the user opens it. */
  readonly changes?: readonly string[] | undefined
  /** Not a tool but a resource is to be read or followed; `tool` is its address then. */
  readonly resource?: boolean
  /** Not a tool but a prompt is to be got or completed; `tool` is its name then. */
  readonly prompt?: boolean
  /** What the tool is to be called with, where that is known. */
  readonly arguments?: Readonly<Record<string, unknown>> | undefined
  /** A server of our own, which brings its own list of allowed tools. */
  readonly builtin?:
    | {
        readonly allowedTools: readonly string[]
        /** Why its list does not cover this call, because of the arguments. */
        readonly asks?: string | undefined
      }
    | undefined
}

export type PermissionOutcome = 'allow' | 'ask' | 'deny'

/** What made a decision, in words and by place. */
export interface Reason {
  readonly kind:
    | 'channel'
    | 'rule'
    | 'builtin'
    | 'default'
    | 'grant'
    | 'user'
    | 'client'
    | 'nobody'
    | 'hook'
    | 'changed'
  /** One sentence without the final stop, e.g. `the rule "mcp__git__*" denies it`. */
  readonly text: string
  /** The file or label the rule stands in. */
  readonly source?: string
  readonly rule?: string
}

export interface Decision {
  readonly outcome: PermissionOutcome
  readonly reason: Reason
}
