// prompts: the prompts that servers offer, and the arguments of each.
import type { Invocation } from '../context.ts'
import { table } from '../output.ts'
import { oneLine } from '../shared/one-line.ts'
import { listOffered } from './offered-list.ts'

export function run(invocation: Invocation): Promise<number> {
  return listOffered(invocation, {
    kind: 'prompts',
    async print({ board, signal }, server, output) {
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
      return prompts.length
    },
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
