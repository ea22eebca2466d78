// resources: what servers offer to read, and the templates for more.
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
    const [resources, templates] = await Promise.all([
      board.resources({ server, signal }),
      board.templates({ server, signal }),
    ])
    const data = {
      resources: resources.map(({ server: of, resource }) => ({ server: of, ...resource })),
      templates: templates.map(({ server: of, template }) => ({ server: of, ...template })),
    }
    output.result(data, () => {
      const { bold, dim } = output.color
      const rows = [
        ...resources.map(({ server: of, resource }) => [of, resource.uri, resource] as const),
        ...templates.map(({ server: of, template }) => [of, template.uriTemplate, template] as const),
      ]
      return table(
        rows.map(([of, address, item]) => [
          of,
          bold(oneLine(address, 120)),
          oneLine(item['title'] ?? item.name, 50),
          dim([oneLine(item['mimeType'], 40), oneLine(item['description'], 80)].filter(Boolean).join(' · ')),
        ]),
      )
    })
    if (resources.length + templates.length === 0 && !output.json) output.note('No resources.')
    return EXIT.done
  })
}
