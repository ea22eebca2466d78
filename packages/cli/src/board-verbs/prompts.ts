// prompts: the prompts that servers offer, and the arguments of each.
import { type Invocation, words } from '../context.ts'
import { EXIT, table } from '../output.ts'
import { allServers } from '../shared/missing-servers.ts'
import { oneLine } from '../shared/sanitize.ts'
import { withBoard } from '../with-board.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [server] = words(invocation, ['SERVER'], 1)
  const { output } = invocation
  return withBoard(invocation, async (opened) => {
    const { board, signal } = opened
    if (server === undefined) await allServers(invocation, opened)
    const prompts = await board.prompts({ server, signal })
    output.result({ prompts: prompts.map(({ server: of, prompt }) => ({ server: of, ...prompt })) }, () =>
      table(
        prompts.map(({ server: of, prompt }) => [
          of,
          output.color.bold(oneLine(prompt.name, 80)),
          takes(prompt['arguments']),
          output.color.dim(oneLine(prompt['description'] ?? prompt['title'], 90)),
        ]),
      ),
    )
    if (prompts.length === 0 && !output.json) output.note('No prompts.')
    return EXIT.done
  })
}

function takes(args: unknown): string {
  if (!Array.isArray(args)) return ''
  return args
    .map((arg: { name?: unknown; required?: unknown } | null) => {
      const name = oneLine(arg?.name, 40)
      return arg?.required === true ? `${name}=…` : `[${name}=…]`
    })
    .join(' ')
}
