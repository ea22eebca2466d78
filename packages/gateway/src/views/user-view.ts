// user-view.ts: what one user sees besides what all see: the lists of servers to which the user logged in. They come from the user's
// own connections, and no other user's view is made of them.
import { type BoundTool, NameRegistry } from '@plugboard/core/tools'
import type { Exposure } from '../access/exposure.ts'
import type { Json } from '../json-rpc.ts'
import { listedPrompt, listedResource } from './definition-repair.ts'
import { toPublic } from './resource-uris.ts'
import type { NamedItem, Naming } from './tool-names.ts'
import { type Ref, servedTools, shownTools, type ToolViewOptions } from './tool-view.ts'
import type { View } from './views.ts'

/** The lists of one server, as one user's connection got them. */
export interface UserLists {
  readonly server: string
  readonly definitions: readonly Json[]
  readonly tools: readonly BoundTool[]
  readonly prompts: readonly Json[]
  readonly resources: readonly Json[]
  readonly templates: readonly Json[]
}

export interface UserViewOptions extends ToolViewOptions {
  readonly naming: Naming
  readonly expose: Exposure
}

/** The lists take the place of what the base shows of these servers. */
export function userView(
  base: View,
  lists: readonly UserLists[],
  exposure: Exposure,
  options: UserViewOptions,
): View {
  const own = new Set(lists.map(({ server }) => server))
  const isOthers = (ref: Ref | undefined) => ref !== undefined && !own.has(ref.server)
  const tools = base.tools.filter((one) => isOthers(base.tool(String(one.name))))
  const taken = new Set(tools.map(({ name }) => String(name)))
  const served = lists.flatMap(({ server, definitions, tools: bound }) => {
    const source = {
      definitions: () => definitions.map((tool) => ({ server, tool })),
      tools: () => bound,
    }
    return servedTools(options, options.expose, source)
  })
  const names = served.map((item) => nameFor(item, options.naming, taken))
  const shown = shownTools(served, { names, earlier: new Map() }, exposure, options)
  const rest = restOf(base, lists, own, exposure, options)
  return {
    ...base,
    ...rest,
    tools: [...tools, ...shown.list],
    tool: (name) => {
      const ref = shown.byName.get(name)
      if (ref) return ref
      const others = base.tool(name)
      return isOthers(others) ? others : undefined
    },
    appServers: new Set([...[...base.appServers].filter((one) => !own.has(one)), ...shown.appServers]),
    appTools: (name) => [
      ...base.appTools(name).filter((one) => isOthers(base.tool(one))),
      ...shown.appTools(name),
    ],
  }
}

/** A server of a user claims no name that a shared one has. */
function nameFor({ server, name, unique, wanted }: NamedItem, naming: Naming, taken: Set<string>) {
  const usual = naming === 'plain' ? name : naming === 'server.tool' ? `${server}.${name}` : unique
  const shown = [wanted, usual].find((one) => one !== undefined && !taken.has(one))
  if (shown !== undefined) taken.add(shown)
  return shown
}

function restOf(
  base: View,
  lists: readonly UserLists[],
  own: ReadonlySet<string>,
  exposure: Exposure,
  { naming, board }: UserViewOptions,
): Pick<View, 'prompts' | 'prompt' | 'resources' | 'templates' | 'counts'> {
  const visible = lists.filter(({ server }) => exposure.whole(server) && board.link.isReadable(server))
  const others = base.prompts.filter(({ name }) => !own.has(base.prompt(String(name))?.server ?? ''))
  const refs = visible.flatMap(({ server, prompts: items }) =>
    items.map((item) => ({ server, tool: String(item.name), item })),
  )
  const uniques = new NameRegistry().update(refs)
  // A server of a user claims no name that a shared one has.
  const taken = new Set(others.map(({ name }) => String(name)))
  const prompts = new Map<string, Ref>()
  const promptList: Json[] = []
  for (const [at, { server, tool: name, item }] of refs.entries()) {
    const shown = nameFor({ server, name, unique: uniques[at] ?? name }, naming, taken)
    if (shown === undefined) continue
    prompts.set(shown, { server, name })
    promptList.push({ ...listedPrompt(item), name: shown })
  }
  const addresses = (kind: 'resources' | 'templates', field: 'uri' | 'uriTemplate') =>
    visible.flatMap(({ server, [kind]: items }) =>
      items.map((item) => {
        const uri = String(item[field])
        return { ...listedResource(item), [field]: naming === 'plain' ? uri : toPublic({ server, uri }) }
      }),
    )
  const isOthers = (uri: unknown) => {
    const address = base.resource(String(uri)) ?? base.template(String(uri))
    return address === undefined || !own.has(address.server)
  }
  return {
    prompts: [...others, ...promptList],
    prompt: (name) => {
      const known = prompts.get(name)
      if (known) return known
      const shared = base.prompt(name)
      return shared && own.has(shared.server) ? undefined : shared
    },
    resources: [...base.resources.filter(({ uri }) => isOthers(uri)), ...addresses('resources', 'uri')],
    templates: [
      ...base.templates.filter(({ uriTemplate }) => isOthers(uriTemplate)),
      ...addresses('templates', 'uriTemplate'),
    ],
    counts: (server) => {
      const known = visible.find((one) => one.server === server)
      if (!known) return base.counts(server)
      const { tools, resources, prompts: listed } = known
      return { tools: tools.length, resources: resources.length, prompts: listed.length }
    },
  }
}
