// skills: the skills that servers offer, by name and description. It reads no skill.
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
    if (skills.length === 0 && !output.json) output.note('No skills.')
    return EXIT.done
  })
}
