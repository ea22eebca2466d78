// resources: what servers offer to read, and the templates for more.
import type { Invocation } from '../context.ts'
import { table } from '../output.ts'
import { oneLine } from '../shared/one-line.ts'
import { listOffered } from './offered-list.ts'

export function run(invocation: Invocation): Promise<number> {
  return listOffered(invocation, {
    kind: 'resources',
    async print({ board, signal }, server, output) {
      const [resources, templates] = await Promise.all([
        board.resources({ server, signal }),
        board.templates({ server, signal }),
      ])
      const data = {
        resources: resources.map(({ server: of, resource }) => ({ server: of, ...resource })),
        templates: templates.map(({ server: of, template }) => ({ server: of, ...template })),
      }
      const rows = [
        ...resources.map(({ server: of, resource }) => [of, resource.uri, resource] as const),
        ...templates.map(({ server: of, template }) => [of, template.uriTemplate, template] as const),
      ]
      const { bold, dim } = output.color
      output.result(data, () =>
        table(
          rows.map(([of, address, item]) => [
            of,
            bold(oneLine(address, 120)),
            oneLine(item['title'] ?? item.name, 50),
            dim(
              [oneLine(item['mimeType'], 40), oneLine(item['description'], 80)].filter(Boolean).join(' · '),
            ),
          ]),
        ),
      )
      return rows.length
    },
  })
}
