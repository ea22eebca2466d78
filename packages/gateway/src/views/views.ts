// views.ts: what clients see: every server's lists under names and URIs that lead back to it, for one exposure at a
// time. It follows the board's events and never waits for a server.
import { isDeepStrictEqual } from 'node:util'
import type { LocalBoard } from '@plugboard/core'
import { NameRegistry } from '@plugboard/core/tools'
import type { Exposure } from '../access/exposure.ts'
import { isObject, type Json } from '../json-rpc.ts'
import { listedPrompt, listedResource } from './definition-repair.ts'
import { type ClaimKind, KINDS, NameClaims, type NameStore } from './name-claims.ts'
import { fitsTemplate, fromPublic, type ResourceUri, STATUS_URI, toPublic } from './resource-uris.ts'
import { type GivenNames, giveNames, type NamedItem, type Naming } from './tool-names.ts'
import {
  type Ref,
  type ServedTool,
  servedTools,
  shownTools,
  type ToolRef,
  type ToolViewOptions,
} from './tool-view.ts'

export type { Naming } from './tool-names.ts'
export { type Ref, SELECT_ARGUMENT, type ToolRef } from './tool-view.ts'
export type Shown = 'tools' | 'resources' | 'prompts'

/** Everything one exposure shows, frozen until something changes. */
export interface View {
  readonly tools: readonly Json[]
  readonly prompts: readonly Json[]
  readonly resources: readonly Json[]
  readonly templates: readonly Json[]
  tool(name: string): ToolRef | undefined
  /** Servers with apps. */
  readonly appServers: ReadonlySet<string>
  /** The tools that an app may mean by its server's own name for one. */
  appTools(name: string): readonly string[]
  prompt(name: string): Ref | undefined
  /** Where a resource lives, by its public URI, or by the server's own where that is unambiguous. */
  resource(uri: string): ResourceUri | undefined
  template(uriTemplate: string): ResourceUri | undefined
  /** How much of a server this exposure shows. */
  counts(server: string): { readonly tools: number; readonly resources: number; readonly prompts: number }
  /** Names that two servers want, in naming schemes that cannot tell them apart. */
  readonly collisions: readonly string[]
}

/** A view without its tools. */
interface Rest extends Omit<View, 'tools' | 'tool' | 'appServers' | 'appTools' | 'counts' | 'collisions'> {
  counts(server: string): { readonly resources: number; readonly prompts: number }
}

type ListKind = 'tools' | 'resources' | 'templates' | 'prompts'
interface Lists {
  readonly tools: readonly Json[]
  readonly resources: readonly Json[]
  readonly templates: readonly Json[]
  readonly prompts: readonly Json[]
}
const NOTHING: Lists = { tools: [], resources: [], templates: [], prompts: [] }

export interface ViewBuilderOptions extends ToolViewOptions {
  readonly naming: Naming
  /** Names that no tool may have. */
  readonly reserved: ReadonlySet<string>
  /** Where names are kept for the next process. */
  readonly store?: NameStore | undefined
  /** What is served at all; the rest claims no names. */
  readonly expose: Exposure
  /** A list is different now because of one server, or maybe because of any; `tools` are those that are different. */
  changed(shown: Shown, server?: string, tools?: readonly string[]): void
}

export class ViewBuilder {
  readonly #board: LocalBoard
  readonly #options: ViewBuilderOptions
  readonly #lists = new Map<string, Lists>()
  readonly #promptNames = new NameRegistry()
  readonly #claims: NameClaims
  #views = new WeakMap<Exposure, View>()
  /** What all views have in common; made anew with them. */
  #served: { readonly tools: readonly ServedTool[]; readonly names: GivenNames } | undefined
  readonly #warned = new Set<string>()
  readonly #stops: (() => void)[]

  constructor(options: ViewBuilderOptions) {
    this.#options = options
    this.#board = options.board
    this.#claims = new NameClaims((text, server) => this.#board.link.warn(text, server), options.store)
    const configured = new Set(this.#board.servers().map(({ name }) => name))
    for (const { server } of options.store?.known.values() ?? [])
      if (!configured.has(server)) this.#claims.release(server)
    this.#stops = [
      this.#board.on('list-changed', ({ server, list }) => {
        // Skills are read through the resources they are made of.
        if (list !== 'skills') this.#listed(server, list)
      }),
      this.#board.on('state', ({ server, state }) => {
        if (state.kind === 'connected') this.#readTemplates(server)
      }),
      this.#board.on('configuration-changed', ({ added, removed, rules }) => {
        // One that changed is the same server to its clients: it keeps its names.
        for (const server of removed) if (!added.includes(server)) this.#claims.release(server)
        this.#reconfigured(removed, rules)
      }),
    ]
    for (const { name, state } of this.#board.servers()) {
      for (const list of ['tools', 'resources', 'templates', 'prompts'] as const) this.#take(name, list)
      if (state === 'connected') this.#readTemplates(name)
    }
  }

  close(): void {
    for (const stop of this.#stops) stop()
  }

  /** From now on names are kept for the next process. */
  keepNames(): void {
    this.#claims.keep()
  }

  /** Names that a server wanted and another one has, as sentences. */
  refusedNames(): readonly string[] {
    return this.#claims.refusals()
  }

  view(exposure: Exposure): View {
    const known = this.#views.get(exposure)
    if (known) return known
    const made = this.#build(exposure)
    this.#views.set(exposure, made)
    return made
  }

  /** The lists of a server that is gone are gone too; a new one announces its lists when it has them. */
  #reconfigured(removed: readonly string[], rules: boolean): void {
    this.#forget()
    for (const server of removed) {
      const lists = this.#lists.get(server) ?? NOTHING
      this.#lists.delete(server)
      if (lists.tools.length > 0) this.#options.changed('tools', server, lists.tools.map(nameOf))
      if (lists.prompts.length > 0) this.#options.changed('prompts', server)
      if (lists.resources.length + lists.templates.length > 0) this.#options.changed('resources', server)
    }
    // Denied tools are not shown.
    if (rules) for (const shown of ['tools', 'resources', 'prompts'] as const) this.#options.changed(shown)
  }

  /** A list is also read again when a server comes back; only a different one is announced. */
  #listed(server: string, list: ListKind): void {
    const before = this.#lists.get(server)?.[list]
    this.#take(server, list)
    this.#claims.settled(KINDS[list], server)
    if (list === 'resources') this.#readTemplates(server)
    const now = this.#lists.get(server)?.[list] ?? []
    // The tools of the board are new objects even where the list says the same.
    this.#forget()
    if (isDeepStrictEqual(before ?? [], now)) return
    if (list === 'tools') this.#options.changed('tools', server, differing(before ?? [], now))
    else this.#options.changed(list === 'templates' ? 'resources' : list, server)
  }

  /** The board may drop long lists from memory; what clients were shown stays. */
  #take(server: string, list: ListKind): void {
    const items = this.#board.link.connection(server).catalog[list].items as readonly Json[]
    this.#lists.set(server, { ...(this.#lists.get(server) ?? NOTHING), [list]: items })
    this.#claim(server, list, items)
  }

  /** Names are claimed in the order in which servers list them, not when a client looks. */
  #claim(server: string, list: ListKind, items: readonly Json[]): void {
    const { naming, expose } = this.#options
    const isPrefixed = naming === 'server.tool' || naming === 'auto'
    if (naming === 'mcp' || (isPrefixed && list !== 'tools' && list !== 'prompts')) return
    for (const item of items) {
      const name = String(
        list === 'resources' ? item.uri : list === 'templates' ? item.uriTemplate : item.name,
      )
      if (!(list === 'tools' ? expose.tool(server, name) : expose.whole(server))) continue
      if (naming === 'auto') this.#claims.claimFree(KINDS[list], name, { server, name })
      else this.#claims.claim(KINDS[list], this.#shown(server, name), { server, name })
    }
  }

  #shown(server: string, name: string): string {
    return this.#options.naming === 'plain' ? name : `${server}.${name}`
  }

  #readTemplates(server: string): void {
    const connection = this.#board.link.connection(server)
    const { state } = connection
    if (state.kind !== 'connected' || !state.session.capabilities.resources) return
    // An event announces the list when it is there; a server without templates announces nothing.
    connection.list('templates').catch(() => undefined)
  }

  #forget(): void {
    this.#views = new WeakMap()
    this.#served = undefined
  }

  #build(exposure: Exposure): View {
    const collisions: string[] = []
    const served = this.#servedTools()
    for (const [at, { server, name }] of served.tools.entries())
      if (served.names.names[at] === undefined)
        this.#collide('tool', this.#shown(server, name), server, collisions)
    const { list, byName, earlier, appServers, appTools } = shownTools(
      served.tools,
      served.names,
      exposure,
      this.#options,
    )
    const rest = this.#buildRest(exposure, collisions)
    return {
      ...rest,
      tools: list,
      tool: (name) => byName.get(name) ?? earlier.get(name),
      appServers,
      appTools,
      counts: (server) => ({
        tools: [...byName.values()].filter((ref) => ref.server === server).length,
        ...rest.counts(server),
      }),
      collisions,
    }
  }

  #servedTools() {
    if (this.#served) return this.#served
    const tools = servedTools(this.#options, this.#options.expose)
    this.#served = { tools, names: this.#giveNames('tool', tools) }
    return this.#served
  }

  #giveNames(kind: 'tool' | 'prompt', items: readonly NamedItem[]): GivenNames {
    const { naming, reserved } = this.#options
    const refused = ({ server, name, wanted }: NamedItem, why: string) =>
      this.#warnOnce(
        `The ${kind} ${name} of "${server}" is not called "${wanted}", as the settings say: ${why}.`,
        server,
      )
    return giveNames(items, { naming, kind, claims: this.#claims, reserved, refused })
  }

  #warnOnce(text: string, server: string): void {
    if (this.#warned.has(text)) return
    this.#warned.add(text)
    this.#board.link.warn(text, server)
  }

  #buildRest(exposure: Exposure, collisions: string[]): Rest {
    const lists = this.#board.servers().flatMap(({ name, state }): [string, Lists][] => {
      const known = this.#lists.get(name)
      const isShown = state !== 'disabled' && exposure.whole(name) && this.#board.link.isReadable(name)
      return known && isShown ? [[name, known]] : []
    })
    const refs = lists.flatMap(([server, { prompts }]) =>
      prompts.map((prompt) => ({ server, tool: String(prompt.name), prompt })),
    )
    const uniques = this.#promptNames.update(refs)
    const items = refs.map(({ server, tool: name }, at) => ({ server, name, unique: uniques[at] ?? name }))
    const { names, earlier } = this.#giveNames('prompt', items)
    const prompts = new Map<string, Ref>()
    const promptList: Json[] = []
    for (const [at, { server, tool: name, prompt }] of refs.entries()) {
      const shown = names[at]
      if (shown === undefined) {
        this.#collide('prompt', this.#shown(server, name), server, collisions)
        continue
      }
      prompts.set(shown, { server, name })
      promptList.push({ ...listedPrompt(prompt), name: shown })
    }
    const earlierPrompt = (name: string) => prompts.get(names[earlier.get(name) ?? -1] ?? '')
    const spread = this.#addresses(lists, 'resources', 'uri', collisions)
    const templates = this.#addresses(lists, 'templates', 'uriTemplate', collisions)
    const served = new Set(lists.map(([server]) => server))
    return {
      counts: (server) => ({
        resources: [...spread.own.values()].flat().filter((one) => one.server === server).length,
        prompts: [...prompts.values()].filter((one) => one.server === server).length,
      }),
      prompts: promptList,
      resources: [STATUS, ...spread.list],
      templates: templates.list,
      prompt: (name) => prompts.get(name) ?? earlierPrompt(name),
      resource: (uri) => {
        const address = fromPublic(uri)
        return address && served.has(address.server)
          ? address
          : this.#byOwnUri(uri, lists, spread.own, templates.own)
      },
      template: (uriTemplate) => {
        const address = fromPublic(uriTemplate)
        if (address && served.has(address.server)) return address
        return templates.own.get(uriTemplate)?.[0]
      },
    }
  }

  /** Where a server's own URI leads: to the server that lists it, whose template it fits, or that alone has resources. */
  #byOwnUri(
    uri: string,
    lists: readonly (readonly [string, Lists])[],
    resources: ReadonlyMap<string, readonly ResourceUri[]>,
    templates: ReadonlyMap<string, readonly ResourceUri[]>,
  ): ResourceUri | undefined {
    const isPlain = this.#options.naming === 'plain'
    const exact = resources.get(uri)
    if (exact) return onlyServer(exact)
    const fitting = [...templates.values()].flat().filter((one) => fitsTemplate(uri, one.uri))
    const first = isPlain ? this.#oldest(fitting) : onlyServer(fitting)
    if (first) return { server: first.server, uri }
    if (fitting.length > 0) return undefined
    // A prefixed URI that leads nowhere is not a server's own URI.
    if (!isPlain && fromPublic(uri)) return undefined
    const withResources = lists.filter(([server]) => hasResources(this.#board, server))
    const [only] = withResources
    return withResources.length === 1 && only ? { server: only[0], uri } : undefined
  }

  /** A name that an earlier process gave to one of them does not prevent the start: the other is left out and reported. */
  #collide(kind: ClaimKind, shown: string, server: string, collisions: string[]): void {
    if (this.#claims.isSettled(kind, shown)) return
    collisions.push(`the ${kind} "${shown}" of "${this.#claims.ownerOf(kind, shown)}" and "${server}"`)
  }

  /** Of several templates that fit, the one that was there first. */
  #oldest(templates: readonly ResourceUri[]): ResourceUri | undefined {
    const turn = ({ server, uri }: ResourceUri) =>
      this.#claims.turnOf('template', uri, { server, name: uri }) ?? Number.POSITIVE_INFINITY
    return [...templates].sort((a, b) => turn(a) - turn(b))[0]
  }

  #addresses(
    lists: readonly (readonly [string, Lists])[],
    kind: 'resources' | 'templates',
    field: 'uri' | 'uriTemplate',
    collisions: string[],
  ) {
    const own = new Map<string, ResourceUri[]>()
    const list: Json[] = []
    for (const [server, items] of lists)
      for (const item of items[kind]) {
        const address = { server, uri: String(item[field]) }
        const isPlain = this.#options.naming === 'plain'
        if (isPlain && !this.#claims.claim(KINDS[kind], address.uri, { server, name: address.uri })) {
          this.#collide(KINDS[kind], address.uri, server, collisions)
          continue
        }
        const same = own.get(address.uri)
        if (same) same.push(address)
        else own.set(address.uri, [address])
        list.push({ ...listedResource(item), [field]: isPlain ? address.uri : toPublic(address) })
      }
    return { own, list }
  }
}

const STATUS: Json = {
  uri: STATUS_URI,
  name: 'plugboard-status',
  title: 'Servers behind this endpoint',
  description: 'The state of every server behind this endpoint, and what to do about those that are away.',
  mimeType: 'application/json',
}

/** A server's own URI is accepted where only one server can have it. */
function onlyServer(addresses: readonly ResourceUri[]): ResourceUri | undefined {
  const [first, ...more] = addresses
  return more.every(({ server }) => server === first?.server) ? first : undefined
}

function hasResources(board: LocalBoard, server: string): boolean {
  const { state } = board.link.connection(server)
  return state.kind === 'connected' && isObject(state.session.capabilities.resources)
}

const nameOf = ({ name }: Json): string => String(name)

/** The names of tools that came, went or are defined differently. */
function differing(before: readonly Json[], now: readonly Json[]): readonly string[] {
  const known = new Map(before.map((tool) => [nameOf(tool), tool]))
  const names = now.filter((tool) => !isDeepStrictEqual(known.get(nameOf(tool)), tool)).map(nameOf)
  const kept = new Set(now.map(nameOf))
  return [...names, ...[...known.keys()].filter((name) => !kept.has(name))]
}
