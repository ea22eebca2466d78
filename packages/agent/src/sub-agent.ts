// sub-agent.ts: the `agent` tool: a run of its own for one task, over the same connections, with fewer tools.
// It gets no `agent` tool itself: one level is enough to divide work, and cannot run away.
import type { Host } from '@plugboard/core/host'
import { BoardTools, isMeant, type ToolBoard } from './board-tools.ts'
import type { AgentEvent } from './events.ts'
import { AGENT_LIMITS } from './limits.ts'
import { type Message, userMessage } from './messages.ts'
import type { Model } from './models/model.ts'
import type { AgentTool, CallOutcome, Toolbox } from './toolbox.ts'

/** The name of the tool that starts a helper. */
export const AGENT_TOOL_NAME = 'agent'

/** A kind of sub-agent the program offers. Only the program can give one servers of its own. */
export interface AgentKind {
  readonly name: string
  /** For the model that chooses. */
  readonly description: string
  readonly instructions?: string
  /** Which of the board's tools it gets; all when left out. */
  readonly tools?: readonly string[]
  readonly model?: Model
  /** Opens servers of its own; closed when it ends. */
  readonly openBoard?: () => Promise<ToolBoard & { close(): Promise<void> }>
}

/**
 * What a helper may use.
 *
 * @example
 * const options: AgentToolOptions = { board, model, host: systemHost(), run: runAgent }
 * console.log(agentTool(options).name) // agent
 */
export interface AgentToolOptions {
  readonly board: ToolBoard
  readonly model: Model
  readonly host: Host
  readonly kinds?: readonly AgentKind[]
  /** `runAgent`, given so that the two files do not import each other. */
  readonly run: (options: SubAgentRun) => AsyncGenerator<AgentEvent, void, void>
}

/** What a sub-agent's run is started with. */
export interface SubAgentRun {
  readonly model: Model
  readonly messages: readonly Message[]
  readonly system: string
  readonly toolbox: Toolbox
  readonly maxTurns: number
  readonly signal: AbortSignal
  readonly host: Host
}

const GENERAL: AgentKind = {
  name: 'general',
  description: 'does one task with the tools it is given',
}

const SYSTEM =
  'You do one task for another assistant, who sees only your last message. Use the tools you have, then answer with what was found or done, short and complete.'

/**
 * A tool by which the model gives a task to a helper with a conversation of its own.
 *
 * @example
 * const helper = agentTool({ board, model, host: systemHost(), run: runAgent })
 * console.log(helper.name) // agent
 */
export function agentTool(options: AgentToolOptions): AgentTool {
  const kinds = options.kinds ?? [GENERAL]
  return {
    name: AGENT_TOOL_NAME,
    title: 'Agent',
    description:
      'Gives one task to a helper with a fresh memory and the same servers, and returns its answer. Good for work that needs many calls of which only the outcome matters; several may run side by side. Kinds: ' +
      kinds.map(({ name, description }) => `${name} (${description})`).join('; '),
    inputJsonSchema: {
      type: 'object',
      properties: {
        task: { type: 'string', description: 'All it needs to know: it has not read this conversation.' },
        kind: { type: 'string', enum: kinds.map(({ name }) => name) },
        tools: {
          type: 'array',
          items: { type: 'string' },
          description: 'Only these tools: names, servers, or beginnings that end in *. All when left out.',
        },
      },
      required: ['task'],
    },
    concurrencySafe: true,
    call: async (args, { id, signal, emit }) => {
      const { task } = args
      if (typeof task !== 'string' || task.trim() === '') return failed('The task is missing.')
      const kind = args.kind === undefined ? kinds[0] : kinds.find(({ name }) => name === args.kind)
      if (!kind) return failed(`There is no kind of agent named ${JSON.stringify(args.kind)}.`)
      const asked = Array.isArray(args.tools)
        ? args.tools.filter((name): name is string => typeof name === 'string')
        : []
      const opened = await kind.openBoard?.()
      try {
        // It waits for the servers that were opened for this task: it was given them to use them.
        await opened?.ready({ signal, timeoutMs: AGENT_LIMITS.searchWaitMs })
        const board = opened ? joined(options.board, opened) : options.board
        return await follow(options, kind, board, asked, task, {
          signal,
          emit: (event) => emit({ type: 'sub', id, event: withoutMessages(event) }),
        })
      } finally {
        await opened?.close()
      }
    },
  }
}

async function follow(
  options: AgentToolOptions,
  kind: AgentKind,
  board: ToolBoard,
  asked: readonly string[],
  task: string,
  { signal, emit }: { readonly signal: AbortSignal; readonly emit: (event: AgentEvent) => void },
): Promise<CallOutcome> {
  const { host, run } = options
  // The model's request can narrow what the kind has, never widen it.
  const within = kind.tools ? narrowed(board, kind.tools) : board
  const toolbox = new BoardTools({
    board: within,
    host,
    only: asked.length > 0 ? asked : kind.tools,
  })
  const events = run({
    model: kind.model ?? options.model,
    messages: [userMessage(task)],
    system: kind.instructions ? `${SYSTEM}\n\n${kind.instructions}` : SYSTEM,
    toolbox,
    maxTurns: AGENT_LIMITS.subAgentTurns,
    signal,
    host,
  })
  let problem = ''
  for await (const event of events) {
    emit(event)
    if (event.type === 'error') problem = event.error.message
    if (event.type !== 'done') continue
    if (event.reason === 'end')
      return { isError: false, content: [{ type: 'text', text: event.text || '(nothing)' }] }
    const said = event.text === '' ? '' : ` Its last text: ${event.text}`
    return failed(`The agent did not finish (${event.reason})${problem === '' ? '' : `: ${problem}`}.${said}`)
  }
  return failed('The agent ended without an answer.')
}

function narrowed(board: ToolBoard, tools: readonly string[]): ToolBoard {
  return {
    tools: () => board.tools().filter((tool) => isMeant(tool, tools)),
    servers: () => board.servers(),
    ready: (options) => board.ready(options),
    call: (name, ...rest) => board.call(name, ...rest),
  }
}

/** Two boards as one; where both have a name, the agent's own wins. */
function joined(shared: ToolBoard, own: ToolBoard): ToolBoard {
  const names = () => new Set(own.tools().map(({ name }) => name))
  return {
    tools: () => {
      const taken = names()
      return [...own.tools(), ...shared.tools().filter(({ name }) => !taken.has(name))]
    },
    servers: () => [...own.servers(), ...shared.servers()],
    ready: async (options) => {
      await Promise.all([own.ready(options), shared.ready(options)])
    },
    call: (name, ...rest) => (names().has(name) ? own : shared).call(name, ...rest),
  }
}

function withoutMessages(event: AgentEvent): AgentEvent {
  return event.type === 'done' ? { ...event, messages: [] } : event
}

function failed(text: string): CallOutcome {
  return { isError: true, content: [{ type: 'text', text }] }
}
