// prompts: the prompts that servers offer, and the arguments of each.
import type { Invocation } from '../context.ts'
import { table } from '../output.ts'
import { oneLine } from '../shared/one-line.ts'
import { listOffered } from './offered-list.ts'

export function run(invocation: Invocation): Promise<number> {
  return listOffered(invocation, {
    kind: 'prompts',
    start: 'unlisted',
    async read({ board, signal }, server, output) {
      const prompts = await board.prompts({ server, signal, start: 'unlisted' })
      const data = { prompts: prompts.map(({ server: of, prompt }) => ({ server: of, ...prompt })) }
      const text = () =>
        table(
          prompts.map(({ server: of, prompt }) => [
            of,
            output.color.bold(oneLine(prompt.name, 80)),
            takes(prompt['arguments']),
            output.color.dim(oneLine(prompt['description'] ?? prompt['title'], 90)),
          ]),
        )
      return { count: prompts.length, print: () => output.result(data, text) }
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
