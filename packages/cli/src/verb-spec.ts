// verb-spec.ts: the types that describe a verb and what it gets, and the options that every verb has.
import type { Board, BoardBehaviour, openBoard, ProtocolMessage } from '@plugboard/core'
import type { Configuration, Diagnostic } from '@plugboard/core/config'
import type { LoadOptions } from '@plugboard/core/config/load'
import type { Host } from '@plugboard/core/host'
import type { Output, TextWriter } from './output.ts'

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

/** Loads a module of src/board-verbs/ when it is needed: a verb, or the board itself. */
export type LoadBoardVerb = <T = VerbModule>(name: string) => Promise<T>

/** A board in this process, with everything that comes with it. */
export interface BoardModule {
  readonly openBoard: typeof openBoard
}

export interface VerbSpec {
  readonly name: string
  readonly aliases?: readonly string[]
  readonly group: 'Servers' | 'Use' | 'Look' | 'More'
  readonly summary: string
  /** What follows the verb. */
  readonly usage: string
  readonly options?: Readonly<Record<string, OptionSpec>>
  /** Options that the verb does not know are arguments of what it calls: `--key value` is `key=value`. */
  readonly takesArguments?: 'tool' | 'prompt'
  /** What a positional is, for completion. */
  readonly completes?: 'server' | 'client' | 'shell' | 'project-server'
  /** The forms that a word of `usage` may have, each with its meaning. */
  readonly forms?: readonly (readonly [form: string, meaning: string])[]
  /** A line or two of example. */
  readonly examples?: readonly string[]
  readonly load: (loadBoardVerb: LoadBoardVerb) => Promise<VerbModule>
}

/** A command line after parsing. */
export interface Parsed {
  /** Undefined for the bare command: the board. */
  readonly verb: VerbSpec | undefined
  readonly positionals: readonly string[]
  /** What followed `--`, word by word. */
  readonly rest: readonly string[]
  readonly values: Readonly<Record<string, string | boolean | readonly string[] | undefined>>
}

/** Another process than the command's own, which runs the verb for it: the resident one. No terminal belongs to it. */
export interface VerbHost {
  readonly host: Host
  readonly cwd: string
  readonly write: TextWriter
  /** Aborted when the user interrupts the command, or its process ends. */
  readonly signal: AbortSignal
  load(options: LoadOptions): Promise<Configuration>
  open(configuration: Configuration, behaviour: BoardBehaviour): Promise<Board>
  /** What a closing board still writes, such as the audit log, does not keep the command waiting. */
  release(board: Board): void
  /** A call that is about to be sent; `repeatable`: it may be sent again when its outcome is not known. */
  calling(call: { readonly server: string; readonly tool: string; readonly repeatable: boolean }): void
}

export interface Invocation {
  /** The table, for verbs that print about verbs. */
  readonly verbs: readonly VerbSpec[]
  /** Loads a verb that opens the board. */
  readonly loadBoardVerb: LoadBoardVerb
  readonly host: Host
  readonly cwd: string
  readonly output: Output
  /** The verb and what follows it. */
  readonly usage: string
  readonly positionals: readonly string[]
  readonly rest: readonly string[]
  flag(name: string): boolean
  option(name: string): string | undefined
  options(name: string): readonly string[]
  /** Reads every source; faults in files are reported on stderr, once. */
  configuration(
    options?: Pick<LoadOptions, 'withLines' | 'refuse' | 'servers'> & { readonly again?: boolean },
  ): Promise<Configuration>
  /** Servers that are in no file and were given for this command. */
  givenServers(): LoadOptions['servers'] | undefined
  /** Gets every message of the protocol, with `--trace` and for a recording; the board is in this process then. */
  readonly onMessage?: ((message: ProtocolMessage) => void) | undefined
  /** Set when the verb runs in the resident process. */
  readonly runsIn?: VerbHost | undefined
  /** Reports faults in files that another process found; those of a configuration are reported once. */
  reportFaults(faults: readonly Diagnostic[]): void
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
  builtin: {
    type: 'string',
    multiple: true,
    value: 'NAME',
    help: 'switch a built-in server on for this command',
  },
  timeout: {
    type: 'string',
    value: 'TIME',
    help: 'how long a connect or a call may take: milliseconds, or 30s, 2m',
  },
  'approve-project': { type: 'boolean', help: "trust this project's servers and its folder for this run" },
  'no-resident': { type: 'boolean', help: 'start the servers for this command alone' },
  trace: { type: 'boolean', help: 'print every message of the protocol on stderr (-v: uncut)' },
  quiet: { type: 'boolean', short: 'q', help: 'only errors on stderr' },
  verbose: { type: 'boolean', short: 'v', help: 'more notes on stderr' },
  'no-color': { type: 'boolean', help: 'plain text' },
  help: { type: 'boolean', short: 'h', help: 'show this help' },
  version: { type: 'boolean', short: 'V', help: 'print the version' },
}

/** What `plugboard help` explains besides verbs. */
export const TOPICS = ['exit-codes'] as const
export type Topic = (typeof TOPICS)[number]

export function isTopic(word: unknown): word is Topic {
  return TOPICS.some((topic) => topic === word)
}
