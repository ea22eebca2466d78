// board-tools.ts: a board as a toolbox. Servers start with the first message and join when they are up; past a budget
// the model gets a search instead of every definition.
import type { Board, Tool } from '@plugboard/core'
import { atMost } from '@plugboard/core/async/waits'
import { kindOfType } from '@plugboard/core/config/transport-traits'
import { type Host, systemHost } from '@plugboard/core/host'
import {
  type CountedTool,
  cleanText,
  type Loading,
  type OfferedTool,
  planLoading,
  type SearchableTool,
  TOOL_SEARCH_NAME,
  type ToolSearch,
  tokenCosts,
  toolSearch,
  toolTokens,
} from '@plugboard/core/tools'
import type { Emit, ToolFigures } from './events.ts'
import { AGENT_LIMITS } from './limits.ts'
import type { ToolCall } from './messages.ts'
import { READ_SKILL_NAME, type SkillBoard, SkillTool } from './skill-tool.ts'
import { type AgentTool, type Batch, type OfferedTools, runCalls, type Toolbox } from './toolbox.ts'

/** As much of a board as a run needs. */
export type ToolBoard = Pick<Board, 'tools' | 'call' | 'ready' | 'servers'> &
  Partial<Pick<Board, 'connect'>> &
  SkillBoard

/**
 * Which board, and what is offered beside its tools.
 *
 * @example
 * const options: BoardToolsOptions = { board, only: ['notes.say'], toolSearch: 'false' }
 * console.log(new BoardTools(options) instanceof BoardTools) // true
 */
export interface BoardToolsOptions {
  readonly board: ToolBoard
  readonly host?: Host
  /** Tools of the program itself; as a function, those of the moment. */
  readonly own?: readonly AgentTool[] | (() => readonly AgentTool[])
  /** Which of the board's tools: full names, `server`, `server.tool` or a prefix with `*`. All when left out. */
  readonly only?: readonly string[] | undefined
  /** Why a tool may not be used now, as the model is told; undefined when it may. Such a tool is not offered. */
  readonly refuses?: (tool: Tool) => string | undefined
  /** How long the first request waits for servers that are starting: one question has no later turn for them. */
  readonly startMs?: number
  /** How long the first request waits for servers that run in this process. */
  readonly graceMs?: number
  /** `ENABLE_TOOL_SEARCH`, when not from the environment. */
  readonly toolSearch?: string | undefined
}

interface Counted extends CountedTool {
  readonly tool: Tool
}

interface Plan {
  readonly tools: readonly Tool[]
  readonly loading: Loading<Counted>
  readonly known: ReadonlyMap<string, Counted>
  readonly tokens: number
  /** Made on first use: an index of many tools takes time. */
  search?: ToolSearch
}

const INSTRUCTION_CHARS = 2000
const NOTES_CHARS = 12_000

/**
 * The tools of a board for a run: all of them, or a search.
 *
 * @example
 * const tools = new BoardTools({ board, only: ['notes'] })
 * const offered = await tools.offer(200_000, AbortSignal.timeout(10_000))
 * console.log(offered.tools[0]?.name) // mcp__notes__say
 */
export class BoardTools implements Toolbox {
  readonly #options: BoardToolsOptions
  readonly #host: Host
  readonly #skills: SkillTool
  readonly #found = new Set<string>()
  #wakeAll: (() => void) | undefined
  #plan: Plan | undefined
  #contextTokens = 0

  constructor(options: BoardToolsOptions) {
    this.#options = options
    this.#host = options.host ?? systemHost()
    this.#skills = new SkillTool(options.board, this.#host, (server) => this.#serverWanted(server))
  }

  async offer(contextTokens: number, signal: AbortSignal): Promise<OfferedTools> {
    await this.#start(signal)
    await this.#wake(signal)
    await this.#skills.look(signal)
    this.#contextTokens = contextTokens
    const plan = this.#planFor()
    const { loading, known } = plan
    const starting = this.#starting()
    const own = this.#own()
    const sent: OfferedTool[] = [...own]
    if (loading.kind === 'search' || starting.length > 0) sent.push(this.#searchTool(plan, starting))
    if (loading.kind === 'all') sent.push(...loading.tools.map(({ tool }) => tool))
    else {
      sent.push(...loading.loaded.map(({ tool }) => tool))
      for (const name of this.#found) {
        const found = known.get(name)
        if (found && !found.alwaysLoad) sent.push(found.tool)
      }
    }
    const ownTokens = own.reduce((sum, tool) => sum + toolTokens(tool), 0)
    const figures: ToolFigures = {
      sent: sent.length,
      sentTokens:
        loading.kind === 'all' && starting.length === 0
          ? plan.tokens + ownTokens
          : sent.reduce((sum, tool) => sum + toolTokens(tool), 0),
      known: known.size + own.length,
      knownTokens: plan.tokens + ownTokens,
      ...(loading.kind === 'search' && { why: loading.why }),
      starting,
    }
    return { tools: sent, figures, notes: this.#notes(starting) }
  }

  run(calls: readonly ToolCall[], emit: Emit, signal: AbortSignal): Promise<Batch> {
    const found = new Map<string, AgentTool>()
    const find = (name: string) => {
      const known = found.get(name) ?? this.#find(name)
      found.set(name, known)
      return known
    }
    return runCalls(calls, find, { host: this.#host, emit, signal })
  }

  async #start(signal: AbortSignal): Promise<void> {
    const { board, startMs = 0 } = this.#options
    if (this.#wakeAll || startMs <= 0) return
    await board.ready({ signal, timeoutMs: startMs })
  }

  /**
   * The first request waits briefly for servers in this process, and is sent; servers that are processes or
   * remote are started right after it, so that starting them does not delay the first word of the response.
   */
  async #wake(signal: AbortSignal): Promise<void> {
    if (this.#wakeAll) {
      this.#wakeAll()
      return
    }
    const { board, graceMs = AGENT_LIMITS.graceMs } = this.#options
    let awake = false
    this.#wakeAll = () => {
      if (awake) return
      awake = true
      // The run does not wait for all of them: a server that fails costs only its own tools.
      board.ready().catch(() => undefined)
    }
    this.#host.backgroundTimer(AGENT_LIMITS.wakeAfterMs, this.#wakeAll)
    const near = board
      .servers()
      .filter(({ type, state }) => kindOfType(type) === 'in-process' && state === 'pending')
      .map(({ name }) => board.connect?.(name, { signal }))
    if (near.length === 0) return
    await atMost(this.#host, graceMs, Promise.allSettled(near))
  }

  #starting(): readonly string[] {
    return this.#options.board
      .servers()
      .filter(({ name, state }) => state === 'pending' && this.#serverWanted(name))
      .map(({ name }) => name)
  }

  /** The same tools make the same plan; counting hundreds of definitions at every turn would be slow. */
  #planFor(): Plan {
    const tools = this.#options.board
      .tools()
      .filter((tool) => tool.available && this.#wanted(tool) && this.#options.refuses?.(tool) === undefined)
    const before = this.#plan
    if (
      before &&
      tools.length === before.tools.length &&
      tools.every((tool, at) => tool === before.tools[at])
    )
      return before
    const counted = tools.map(
      (tool): Counted => ({
        name: tool.name,
        description: tool.description,
        inputJsonSchema: tool.inputJsonSchema,
        server: tool.mcpInfo.serverName,
        alwaysLoad: tool.alwaysLoad,
        tool,
      }),
    )
    const mode = this.#options.toolSearch ?? this.#host.env.ENABLE_TOOL_SEARCH
    this.#plan = {
      tools,
      loading: planLoading(counted, {
        contextTokens: this.#contextTokens,
        ...(mode !== undefined && { mode }),
      }),
      known: new Map(counted.map((tool) => [tool.name, tool])),
      tokens: tokenCosts(counted).tokens,
    }
    return this.#plan
  }

  #searchOf(plan: Plan): ToolSearch {
    const { loading } = plan
    plan.search ??= toolSearch((loading.kind === 'search' ? loading.deferred : loading.tools).map(searchable))
    return plan.search
  }

  #searchTool(plan: Plan, starting: readonly string[]): AgentTool {
    const { definition } = this.#searchOf(plan)
    const later =
      starting.length === 0
        ? ''
        : ` These servers are still starting, and a search waits for them: ${starting.slice(0, 40).join(', ')}.`
    return {
      ...definition,
      description:
        (plan.loading.kind === 'search' ? definition.description : 'Finds tools that are not listed yet.') +
        later,
      title: 'Search tools',
      concurrencySafe: true,
      call: async (args, { signal }) => {
        if (this.#starting().length > 0)
          await this.#options.board.ready({ signal, timeoutMs: AGENT_LIMITS.searchWaitMs })
        const { names, text } = this.#searchOf(this.#planFor()).search(args)
        for (const name of names) this.#remember(name)
        return { isError: false, content: [{ type: 'text', text }] }
      },
    }
  }

  #remember(name: string): void {
    this.#found.delete(name)
    this.#found.add(name)
    for (const oldest of this.#found) {
      if (this.#found.size <= AGENT_LIMITS.foundTools) return
      this.#found.delete(oldest)
    }
  }

  #own(): readonly AgentTool[] {
    const given = this.#options.own ?? []
    const own = typeof given === 'function' ? given() : given
    const reader = this.#skills.tool()
    // A program that has a tool of that name means its own.
    return !reader || own.some(({ name }) => name === READ_SKILL_NAME) ? own : [...own, reader]
  }

  /** Own tools first; any other name goes to the board, which connects the servers that could have it, or says that none has. */
  #find(name: string): AgentTool {
    const own = this.#own().find((tool) => tool.name === name)
    if (own) return own
    if (name === TOOL_SEARCH_NAME && this.#plan) return this.#searchTool(this.#plan, [])
    const { board } = this.#options
    const tool = board.tools().find((one) => one.name === name)
    return {
      name,
      description: '',
      inputJsonSchema: {},
      title: tool ? `${tool.mcpInfo.serverName}: ${tool.userFacingName()}` : titleOf(name),
      concurrencySafe: tool?.isConcurrencySafe() ?? false,
      call: async (args, { signal, onProgress }) => {
        if (tool ? !this.#wanted(tool) : this.#options.only !== undefined)
          return { isError: true, content: [{ type: 'text', text: `There is no tool named "${name}".` }] }
        const refusal = tool && this.#options.refuses?.(tool)
        if (refusal !== undefined) return { isError: true, content: [{ type: 'text', text: refusal }] }
        const { isError, content } = await board.call(name, args, { signal, onProgress, caller: 'agent' })
        return { isError, content }
      },
    }
  }

  #wanted(tool: Tool): boolean {
    const { only } = this.#options
    return !only || isMeant(tool, only)
  }

  #serverWanted(server: string): boolean {
    const { only } = this.#options
    return !only || only.some((pattern) => pattern.includes(server) || pattern.includes('*'))
  }

  /** The servers' own instructions: given to the model as theirs, and bounded in length. */
  #notes(starting: readonly string[]): string {
    const lines: string[] = []
    if (starting.length > 0)
      lines.push(`Still starting, their tools are not listed yet: ${starting.slice(0, 40).join(', ')}.`)
    let room = NOTES_CHARS
    for (const { name, instructions } of this.#options.board.servers()) {
      if (!instructions || room <= 0 || !this.#serverWanted(name)) continue
      const text = cleanText(instructions).slice(0, Math.min(INSTRUCTION_CHARS, room))
      room -= text.length
      lines.push(`The server "${name}" says about its tools:\n${text}`)
    }
    const skills = this.#skills.notes()
    if (skills !== '') lines.push(skills)
    return lines.join('\n\n')
  }
}

/** A tool whose server is still starting is named like the others. */
function titleOf(name: string): string {
  const [, server, tool] = /^mcp__(.+?)__(.+)$/.exec(name) ?? []
  return server === undefined ? name : `${server}: ${tool}`
}

/** Whether one of the patterns matches this tool: its full name, `server`, `server.tool` or a prefix with `*`. */
export function isMeant(
  { name, mcpInfo: { serverName, toolName } }: Tool,
  patterns: readonly string[],
): boolean {
  const names = [name, `${serverName}.${toolName}`, serverName]
  return patterns.some((pattern) =>
    pattern.endsWith('*')
      ? names.some((one) => one.startsWith(pattern.slice(0, -1)))
      : names.includes(pattern),
  )
}

function searchable({ tool, ...counted }: Counted): SearchableTool {
  const { name, server, description, inputJsonSchema } = counted
  return {
    name,
    server,
    tool: tool.mcpInfo.toolName,
    title: tool.userFacingName(),
    description,
    inputJsonSchema,
  }
}
