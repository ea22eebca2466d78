// skills: the skills that servers offer, by name and description. It reads no skill.
import type { Invocation } from '../context.ts'
import { table } from '../output.ts'
import { oneLine } from '../shared/one-line.ts'
import { listOffered } from './offered-list.ts'

export function run(invocation: Invocation): Promise<number> {
  return listOffered(invocation, {
    kind: 'skills',
    // They are no part of the catalog.
    start: 'all',
    async read({ board, signal }, server, output) {
      const skills = await board.skills({ server, signal })
      const text = () =>
        table(
          skills.map(({ server: of, name, description, files }) => [
            of,
            output.color.bold(oneLine(name, 64)),
            files ? `${files.length} file${files.length === 1 ? '' : 's'}` : 'unlisted files',
            output.color.dim(oneLine(description, 90)),
          ]),
        )
      return { count: skills.length, print: () => output.result({ skills }, text) }
    },
  })
}
