// skills: the skills that servers offer, by name and description. It reads no skill.
import type { Invocation } from '../context.ts'
import { table } from '../output.ts'
import { oneLine } from '../shared/one-line.ts'
import { listOffered } from './offered-list.ts'

export function run(invocation: Invocation): Promise<number> {
  return listOffered(invocation, {
    kind: 'skills',
    async print({ board, signal }, server, output) {
      const skills = await board.skills({ server, signal })
      output.result({ skills }, () =>
        table(
          skills.map(({ server: of, name, description, files }) => [
            of,
            output.color.bold(oneLine(name, 64)),
            files ? `${files.length} file${files.length === 1 ? '' : 's'}` : 'unlisted files',
            output.color.dim(oneLine(description, 90)),
          ]),
        ),
      )
      return skills.length
    },
  })
}
