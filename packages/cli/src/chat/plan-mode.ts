// plan-mode.ts: while it is on, only tools that read may run, until the user has approved a plan. The user turns it on and
// off with /plan; the model has a tool for each way, and only the user's yes ends it.
import type { AgentTool } from '@plugboard/agent'
import type { Tool } from '@plugboard/core'

/** Shows the plan; true when it may be carried out. */
export type PlanReview = (plan: string, signal: AbortSignal) => Promise<boolean>

export const ENTER_PLAN_MODE = 'enter_plan_mode'
export const EXIT_PLAN_MODE = 'exit_plan_mode'

const NOTE =
  'Plan mode is on: look around with tools that only read, and change nothing. When you know what to do, call exit_plan_mode with the plan; the user decides.'
const REFUSAL =
  'Plan mode is on, so this tool was not called: only tools that read may run. Call exit_plan_mode with your plan and wait for the user.'

export class PlanMode {
  readonly #review: PlanReview
  #on = false

  constructor(review: PlanReview) {
    this.#review = review
  }

  get isOn(): boolean {
    return this.#on
  }

  set(on: boolean): void {
    this.#on = on
  }

  /** For the system prompt. */
  note(): string | undefined {
    return this.#on ? NOTE : undefined
  }

  refusal(tool: Pick<Tool, 'isReadOnly'>): string | undefined {
    return this.#on && !tool.isReadOnly() ? REFUSAL : undefined
  }

  tools(): readonly AgentTool[] {
    return [this.#on ? this.#exit() : this.#enter()]
  }

  #enter(): AgentTool {
    return {
      name: ENTER_PLAN_MODE,
      title: 'Plan mode',
      description:
        'Turns plan mode on: only tools that read may run until the user has approved a plan. Use it before a larger change.',
      inputJsonSchema: { type: 'object', properties: {} },
      concurrencySafe: false,
      call: async () => {
        this.#on = true
        return { isError: false, content: [{ type: 'text', text: NOTE }] }
      },
    }
  }

  #exit(): AgentTool {
    return {
      name: EXIT_PLAN_MODE,
      title: 'Plan',
      description:
        'Shows your plan to the user, who approves it or not. With a yes, all tools may run again.',
      inputJsonSchema: {
        type: 'object',
        properties: {
          plan: { type: 'string', description: 'The plan, in Markdown: each step and its effect.' },
        },
        required: ['plan'],
      },
      concurrencySafe: false,
      call: async ({ plan }, { signal }) => {
        if (typeof plan !== 'string' || plan.trim() === '')
          return { isError: true, content: [{ type: 'text', text: 'The plan is missing.' }] }
        const approved = await this.#review(plan, signal)
        if (approved) this.#on = false
        const text = approved
          ? 'The user approved the plan. All tools may run again; carry it out.'
          : 'The user did not approve the plan. Plan mode stays on: ask what to change, or plan again.'
        return { isError: false, content: [{ type: 'text', text }] }
      },
    }
  }
}
