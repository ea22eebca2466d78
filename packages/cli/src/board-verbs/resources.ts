// resources: what servers offer to read, and the templates for more.
import type { Invocation } from '../context.ts'
import { table } from '../output.ts'
import { oneLine } from '../shared/one-line.ts'
import { listOffered } from './offered-list.ts'

export function run(invocation: Invocation): Promise<number> {
  return listOffered(invocation, {
    kind: 'resources',
    start: 'unlisted',
    async read({ board, signal }, server, output) {
      const of = { server, signal, start: 'unlisted' } as const
      const [resources, templates] = await Promise.all([board.resources(of), board.templates(of)])
      const data = {
        resources: resources.map(({ server: from, resource }) => ({ server: from, ...resource })),
        templates: templates.map(({ server: from, template }) => ({ server: from, ...template })),
      }
      const rows = [
        ...resources.map(({ server: from, resource }) => [from, resource.uri, resource] as const),
        ...templates.map(({ server: from, template }) => [from, template.uriTemplate, template] as const),
      ]
      const { bold, dim } = output.color
      const text = () =>
        table(
          rows.map(([from, address, item]) => [
            from,
            bold(oneLine(address, 120)),
            oneLine(item['title'] ?? item.name, 50),
            dim(
              [oneLine(item['mimeType'], 40), oneLine(item['description'], 80)].filter(Boolean).join(' · '),
            ),
          ]),
        )
      return { count: rows.length, print: () => output.result(data, text) }
    },
  })
}
