// skill: one file of a skill, its SKILL.md unless another is named. Only verified content is printed; where a server makes
// verification impossible the command says so.
import { InvalidInput } from '@plugboard/core/errors'
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { forStdout } from '../shared/one-line.ts'
import { writeTarget } from '../shared/output-file.ts'
import { timeoutOption } from '../shared/timeouts.ts'
import { writeBytes } from '../streams.ts'
import { userPromptOptions } from '../terminal/terminal-prompts.ts'
import { withBoard } from '../with-board.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [server = '', name = '', file] = words(invocation, ['SERVER', 'NAME', 'FILE'], 1)
  const { output } = invocation
  return withBoard(
    invocation,
    async ({ board, signal }) => {
      const timeoutMs = timeoutOption(invocation)
      const read = await board.readSkill(server, name, {
        file,
        caller: 'user',
        signal,
        ...(timeoutMs !== undefined && { timeoutMs }),
      })
      const { bytes, text, ...facts } = read
      const target = invocation.option('output')
      if (target === '-') writeBytes(bytes)
      else if (target !== undefined) await writeTarget(target, bytes, invocation)
      else if (text === undefined && !output.json)
        throw new InvalidInput(`${read.path} is not text.`, {
          server,
          hint: 'Write it to a file with -o FILE.',
        })
      else
        output.result(
          { ...facts, size: bytes.length, ...(text === undefined ? { base64: base64(bytes) } : { text }) },
          () => forStdout(text ?? ''),
        )
      if (!read.verified && !output.json)
        output.note(`${server} does not list the files of this skill, so this could not be verified.`)
      return EXIT.done
    },
    userPromptOptions(invocation),
  )
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
