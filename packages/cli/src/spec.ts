// spec.ts: the types that describe a verb, and the options that every verb has.
import type { Invocation } from './context.ts'

export interface OptionSpec {
  readonly type: 'string' | 'boolean'
  readonly short?: string
  readonly multiple?: boolean
  readonly value?: string
  readonly choices?: readonly string[]
  readonly help: string
  /** The value may be left out, and is empty then. */
  readonly optional?: boolean
}

export interface VerbModule {
  run(invocation: Invocation): Promise<number>
}

/** Loads a verb of src/board-verbs/, which opens the board and everything that comes with it. */
export type LoadLive = (name: string) => Promise<VerbModule>

export interface VerbSpec {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly group: 'Servers' | 'Use' | 'Look' | 'More'
  readonly summary: string
  /** What follows the verb. */
  readonly usage: string
  readonly options?: Readonly<Record<string, OptionSpec>>
  /** What a positional is, for completion. */
  readonly completes?: 'server' | 'client' | 'shell' | 'project-server'
  /** A line or two of example. */
  readonly examples?: readonly string[]
  readonly load: (live: LoadLive) => Promise<VerbModule>
}

export const GLOBAL_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  json: { type: 'boolean', help: 'print JSON on stdout' },
  cwd: { type: 'string', value: 'DIR', help: 'work as if started in DIR' },
  'mcp-config': {
    type: 'string',
    multiple: true,
    value: 'FILE|JSON',
    help: 'more servers, from a file or as JSON',
  },
  'strict-mcp-config': {
    type: 'boolean',
    help: 'only the servers of --mcp-config; rules and hooks of other files still apply',
  },
  timeout: { type: 'string', value: 'MS', help: 'how long a connect or a call may take' },
  'approve-project': { type: 'boolean', help: "trust this project's servers and its folder for this run" },
  quiet: { type: 'boolean', short: 'q', help: 'no notes on stderr' },
  verbose: { type: 'boolean', short: 'v', help: 'more notes on stderr' },
  'no-color': { type: 'boolean', help: 'plain text' },
  help: { type: 'boolean', short: 'h', help: 'show this help' },
  version: { type: 'boolean', short: 'V', help: 'print the version' },
}
