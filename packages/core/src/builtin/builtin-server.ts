// builtin-server.ts: the type of a built-in server, ours or a program's: how it is made, what it allows by itself, what it
// needs. No server is made here.
import { join } from 'node:path'
import { plugboardHome } from '../config/sources.ts'
import type { Transport } from '../connection/server-info.ts'
import type { Host } from '../host.ts'
import type { CallPreview } from '../text/question-text.ts'

/** What a built-in server is made with. */
export interface BuiltinContext {
  /** The folder they serve. */
  readonly root: string
  readonly host: Host
  /** Plugboard's own folder: none of it is ever served without permission. */
  readonly home: string
  /** Where their indexes and caches may be. */
  readonly cacheDir: string
}

export function builtinContext(root: string, host: Host): BuiltinContext {
  const home = plugboardHome({ home: host.home, env: host.env })
  return { root, host, home, cacheDir: join(home, 'cache') }
}

/**
 * A server that runs in this process, over a linked pair. A program registers its own:
 *
 * @example
 * await openBoard({
 *   builtins: { db: { create: () => new McpServer({ name: 'db', version: '1.0.0' }), allow: ['query'] } },
 * })
 */
export interface BuiltinServer {
  /** Makes the server at its first use, once for the board. An `McpServer` of the SDK fits as it is. */
  create(context: BuiltinContext): BuiltinInstance | Promise<BuiltinInstance>
  /** The tools that a model may call without a prompt. A user's `ask` or `deny` rule is stronger. */
  readonly allow?: readonly string[]
  /** Why it must not serve this folder; it is then disabled with this reason. */
  unfit?(context: BuiltinContext): string | undefined
  /** What it needs besides itself, for `plugboard doctor`; made without starting anything. */
  check?(context: BuiltinContext): Promise<readonly BuiltinCheck[]>
}

/** A built-in server that runs. */
export interface BuiltinInstance {
  /** Serves one end of a linked pair; called for every connect. */
  connect(end: Transport): unknown
  /** Why this call needs a prompt, because of what it names; undefined when the list decides. */
  reasonToAsk?(
    tool: string,
    args: Readonly<Record<string, unknown>>,
  ): string | undefined | Promise<string | undefined>
  /** What this call would change, shown in the question to the user. */
  preview?(
    tool: string,
    args: Readonly<Record<string, unknown>>,
  ): CallPreview | undefined | Promise<CallPreview | undefined>
  close?(): unknown
}

export interface BuiltinCheck {
  readonly ok: boolean
  readonly detail: string
  /** What the user can do about it. */
  readonly hint?: string
}
