// skill-tool.ts: the skills of a board's servers, for a model: a list of names and descriptions beside the system prompt, and
// one tool that reads. Nothing is read before the model asks; what is read was verified, and permitted as reading is.
import type { Board, BoardSkill } from '@plugboard/core'
import { atMost } from '@plugboard/core/async/waits'
import type { Host } from '@plugboard/core/host'
import { cleanText } from '@plugboard/core/tools'
import { AGENT_LIMITS } from './limits.ts'
import type { AgentTool, CallOutcome } from './toolbox.ts'

export const READ_SKILL_NAME = 'read_skill'

/** As much of a board as skills need; a board without them has none. */
export type SkillBoard = Pick<Board, 'servers'> & Partial<Pick<Board, 'skills' | 'readSkill'>>

export class SkillTool {
  readonly #board: SkillBoard
  readonly #host: Host
  readonly #wanted: (server: string) => boolean
  #skills: readonly BoardSkill[] = []

  constructor(board: SkillBoard, host: Host, wanted: (server: string) => boolean) {
    this.#board = board
    this.#host = host
    this.#wanted = wanted
  }

  /** Asks the servers that are up. A server that does not answer at once is on the list of a later turn. */
  async look(signal: AbortSignal): Promise<void> {
    const { skills } = this.#board
    if (!skills) return
    const up = this.#board.servers().filter(({ name, state }) => state === 'connected' && this.#wanted(name))
    const lists = new Map<string, readonly BoardSkill[]>()
    const asked = up.map(async ({ name }) => {
      lists.set(name, await skills.call(this.#board, { server: name, signal }))
    })
    await atMost(this.#host, AGENT_LIMITS.skillsMs, Promise.allSettled(asked))
    this.#skills = up.flatMap(({ name }) => lists.get(name) ?? []).slice(0, AGENT_LIMITS.skills)
  }

  /** What the model is told; the descriptions come from the servers. */
  notes(): string {
    if (this.#skills.length === 0) return ''
    const lines = this.#skills.map(
      ({ server, name, description }) =>
        `- ${server}/${name}: ${cleanText(description).replace(/\s+/g, ' ').slice(0, AGENT_LIMITS.skillLineChars)}`,
    )
    return `Skills, as their servers describe them; when one fits the task, read it with ${READ_SKILL_NAME} and follow it:\n${lines.join('\n')}`
  }

  tool(): AgentTool | undefined {
    const { readSkill } = this.#board
    if (!readSkill || this.#skills.length === 0) return undefined
    return {
      name: READ_SKILL_NAME,
      title: 'Read a skill',
      description: 'Reads a skill that a server offers: its SKILL.md, or another of its files.',
      inputJsonSchema: {
        type: 'object',
        properties: {
          skill: { type: 'string', description: 'as listed: server/name' },
          file: { type: 'string', description: 'a path inside the skill; SKILL.md when left out' },
        },
        required: ['skill'],
      },
      concurrencySafe: true,
      call: async ({ skill, file }, { signal }) => {
        const listed = this.#skills.find(({ server, name }) => `${server}/${name}` === skill)
        if (!listed) return answer(`There is no skill "${String(skill)}". Available: ${this.#names()}.`, true)
        const wanted = typeof file === 'string' && file !== '' ? { file } : {}
        const read = await readSkill.call(this.#board, listed.server, listed.uri, {
          ...wanted,
          signal,
          caller: 'agent',
        })
        return answer(shown(read, listed))
      },
    }
  }

  #names(): string {
    return this.#skills.map(({ server, name }) => `${server}/${name}`).join(', ')
  }
}

function shown(
  { text, path, bytes, verified }: Awaited<ReturnType<Board['readSkill']>>,
  { files }: BoardSkill,
): string {
  if (text === undefined) return `${path} is not text (${bytes.length} bytes).`
  const most = AGENT_LIMITS.skillChars
  const parts = [text.length > most ? `${text.slice(0, most)}\n[cut after ${most} characters]` : text]
  if (!verified) parts.push('[The server does not list the files of this skill; this was not verified.]')
  const others = (files ?? []).filter((one) => one !== path)
  if (path === 'SKILL.md' && others.length > 0) parts.push(`[Its other files: ${others.join(', ')}]`)
  return parts.join('\n\n')
}

function answer(text: string, isError = false): CallOutcome {
  return { isError, content: [{ type: 'text', text }] }
}
