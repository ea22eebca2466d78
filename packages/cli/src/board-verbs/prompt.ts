// prompt: one prompt with its arguments filled in, as the messages it makes.
import { InvalidInput } from '@plugboard/core/errors'
import { TOOL_LIMITS } from '@plugboard/core/limits'
import type { Invocation } from '../context.ts'
import { EXIT } from '../output.ts'
import { readTexts } from '../shared/arguments.ts'
import { forStdout, oneLine } from '../shared/one-line.ts'
import { argumentFiles } from '../shared/stdin.ts'
import { timeoutOption } from '../shared/timeouts.ts'
import { userPromptOptions } from '../terminal/terminal-prompts.ts'
import { withBoard } from '../with-board.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [server, name, ...typed] = [...invocation.positionals, ...invocation.rest]
  if (server === undefined || name === undefined)
    throw new InvalidInput(`${server === undefined ? 'SERVER' : 'NAME'} is missing.`, {
      hint: 'Run `plugboard prompts` to see the names.',
    })
  const args = await readTexts(typed, argumentFiles(invocation.cwd, TOOL_LIMITS.argumentBytes))
  const { output } = invocation
  return withBoard(
    invocation,
    async ({ board, signal }) => {
      const timeoutMs = timeoutOption(invocation)
      const result = await board.prompt(server, name, args, {
        signal,
        ...(timeoutMs !== undefined && { timeoutMs }),
      })
      output.result({ server, name, ...result }, () =>
        result.messages
          .map(({ role, content }) => `${output.color.bold(`${role}:`)}\n${forStdout(textOf(content))}`)
          .join('\n\n'),
      )
      return EXIT.done
    },
    userPromptOptions(invocation),
  )
}

function textOf(content: unknown): string {
  const part = (content ?? {}) as {
    type?: unknown
    text?: unknown
    resource?: { text?: unknown; uri?: unknown }
  }
  if (typeof part.text === 'string') return part.text
  if (typeof part.resource?.text === 'string')
    return `[${oneLine(part.resource.uri, 200)}]\n${part.resource.text}`
  return `[${oneLine(part.type, 40) || 'something without text'}; --json shows it whole]`
}
