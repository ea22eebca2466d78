// events.ts: what a run reports to its reader, as plain data: it can be printed, stored and compared.
import type { ErrorJson } from '@plugboard/core/errors'
import type { ContentBlock, Message, Usage } from './messages.ts'

/** What the tools of one request cost, and what they would have cost all together; estimated tokens. */
export interface ToolFigures {
  readonly sent: number
  readonly sentTokens: number
  readonly known: number
  readonly knownTokens: number
  /** Why only some were sent. */
  readonly why?: string
  /** Servers that were still starting. */
  readonly starting: readonly string[]
}

/** A question to the user. */
export type AskedQuestion =
  | {
      readonly kind: 'permission'
      readonly server: string
      readonly tool: string
      readonly arguments: unknown
      readonly reason: string
      readonly answers: readonly string[]
    }
  | {
      readonly kind: 'form'
      readonly server: string
      readonly message: string
      readonly fields: readonly string[]
    }
  | { readonly kind: 'url'; readonly server: string; readonly message: string; readonly url: string }
  | { readonly kind: 'sampling'; readonly server: string; readonly maxTokens: number }

/** Why a run ended. */
export type DoneReason = 'end' | 'turn-limit' | 'length' | 'refusal' | 'aborted' | 'error'

/** Everything that happens in a run. */
export type AgentEvent =
  /** A request goes to the model. */
  | { readonly type: 'turn'; readonly turn: number; readonly model: string; readonly tools: ToolFigures }
  | { readonly type: 'text'; readonly text: string }
  /** What the model thinks before it answers, where it tells; not part of the conversation. */
  | { readonly type: 'thinking'; readonly text: string }
  | { readonly type: 'usage'; readonly usage: Usage; readonly contextTokens: number }
  | {
      readonly type: 'tool-start'
      readonly id: string
      readonly name: string
      readonly title: string
      readonly arguments: unknown
    }
  | {
      readonly type: 'tool-progress'
      readonly id: string
      readonly progress: number
      readonly total?: number
      readonly message?: string
    }
  | {
      readonly type: 'tool-end'
      readonly id: string
      readonly name: string
      readonly isError: boolean
      readonly durationMs: number
      readonly content: readonly ContentBlock[]
    }
  | { readonly type: 'ask'; readonly question: AskedQuestion }
  | { readonly type: 'answer'; readonly kind: AskedQuestion['kind']; readonly answer: string }
  /** The request failed and is made again; with `discard` the text of this turn so far does not count. */
  | {
      readonly type: 'retry'
      readonly attempt: number
      readonly of: number
      readonly afterMs: number
      readonly reason: string
      readonly discard: boolean
    }
  /** The older part of the conversation is a summary from here on. */
  | { readonly type: 'compacted'; readonly tokensBefore: number; readonly tokensAfter: number }
  /** Something inside a call of the `agent` tool. */
  | { readonly type: 'sub'; readonly id: string; readonly event: AgentEvent }
  | { readonly type: 'error'; readonly error: ErrorJson }
  | {
      readonly type: 'done'
      readonly reason: DoneReason
      /** The last thing the model said. */
      readonly text: string
      readonly turns: number
      readonly usage: Usage
      /** The whole conversation, to go on with. */
      readonly messages: readonly Message[]
    }

/** Takes the events of a run. */
export type Emit = (event: AgentEvent) => void
