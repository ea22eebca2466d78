// resources-and-prompts.ts: resources, templates, prompts and completion, the same way for every server and both
// eras. board-calls.ts checks permission; a server that may not be read has none of it.
import type { Catalog } from '../connection/catalog.ts'
import type { SideList } from '../connection/catalog-store.ts'
import type { Connection } from '../connection/connection.ts'
import type { PromptDefinition, ResourceDefinition, TemplateDefinition } from '../connection/lists.ts'
import { JsonRpcError } from '../connection/request-errors.ts'
import { isObject, type Json, RPC, type ServerCapabilities } from '../connection/server-info.ts'
import { InvalidInput, isPlugboardError, NotFound, type PlugboardError, ToolError } from '../errors.ts'
import type { Host } from '../host.ts'
import type { CallContext } from '../tools/index.ts'
import type { OfferMethod } from './board-calls.ts'
import { disabledError } from './find-tool.ts'
import { isAsleep } from './servers.ts'

export interface OfRequest {
  /** Only this server's; otherwise every server's, and one that fails affects only itself. */
  readonly server?: string | undefined
  readonly signal?: AbortSignal | undefined
  /** `unlisted`: a server whose list the catalog knows is not started for it. */
  readonly start?: 'all' | 'unlisted' | undefined
}

/** A resource of a server, as a board lists it. */
export interface BoardResource {
  readonly server: string
  readonly resource: ResourceDefinition
}
/** A template of resources of a server, as a board lists it. */
export interface BoardTemplate {
  readonly server: string
  readonly template: TemplateDefinition
}
/** A prompt of a server, as a board lists it. */
export interface BoardPrompt {
  readonly server: string
  readonly prompt: PromptDefinition
}

/** The content of a resource: text, or bytes in base64. */
export type ResourceContent = {
  readonly uri: string
  readonly mimeType?: string
  readonly _meta?: Json
} & ({ readonly text: string } | { readonly blob: string })

/** One message of a prompt. */
export interface PromptMessage {
  readonly role: 'user' | 'assistant'
  readonly content: unknown
}

/** The messages that a prompt made. */
export interface PromptResult {
  readonly description?: string
  readonly messages: readonly PromptMessage[]
}

/** What is being completed: an argument of a prompt, or a variable of a resource template. */
export type CompletionOf =
  | { readonly prompt: string; readonly argument: string; readonly value: string }
  | { readonly template: string; readonly argument: string; readonly value: string }

/** Values that complete an argument. */
export interface Completion {
  readonly values: readonly string[]
  readonly total?: number
  readonly hasMore: boolean
}

export interface ResourcesAndPromptsOptions {
  connection(name: string): Connection
  connections(): readonly (readonly [string, Connection])[]
  /** Rejects when the permissions do not allow it. */
  permit(server: string, method: OfferMethod, name: string, context: CallContext): Promise<void>
  /** May anything be read from the server? */
  isReadable(server: string): boolean
  /** Rejects with the reason when nothing may be read. */
  requireReadable(server: string): void
}

export class ResourcesAndPrompts {
  readonly #host: Pick<Host, 'now'>
  readonly #on: ResourcesAndPromptsOptions

  constructor(host: Pick<Host, 'now'>, on: ResourcesAndPromptsOptions) {
    this.#host = host
    this.#on = on
  }

  async resources(of: OfRequest): Promise<readonly BoardResource[]> {
    const lists = await this.#listed('resources', of, has('resources'))
    return lists.flatMap(({ server, items }) => items.map((resource) => ({ server, resource })))
  }

  async templates(of: OfRequest): Promise<readonly BoardTemplate[]> {
    const lists = await this.#listed('templates', of, has('resources'))
    return lists.flatMap(({ server, items }) => items.map((template) => ({ server, template })))
  }

  async prompts(of: OfRequest): Promise<readonly BoardPrompt[]> {
    const lists = await this.#listed('prompts', of, has('prompts'))
    return lists.flatMap(({ server, items }) => items.map((prompt) => ({ server, prompt })))
  }

  async #listed<K extends SideList>(kind: K, of: OfRequest, offered: (has: ServerCapabilities) => boolean) {
    const known = (one: Connection) =>
      of.start === 'unlisted' && isAsleep(one, this.#host.now()) ? one.catalog.known(kind) : undefined
    return await this.each<Catalog[K]['items'][number]>(
      of,
      offered,
      (one, signal) => one.list(kind, signal),
      known,
    )
  }

  async read(server: string, uri: string, context: CallContext): Promise<readonly ResourceContent[]> {
    const connection = this.#on.connection(server)
    await this.#on.permit(server, 'resources/read', uri, context)
    try {
      const { contents } = await connection.request('resources/read', { uri }, requestOptions(context))
      return Array.isArray(contents) ? contents.flatMap((item: unknown) => contentOf(item, uri)) : []
    } catch (error) {
      // Of the parameters of `resources/read`, only the address can be wrong.
      const missing =
        isInvalidParams(error) || (isPlugboardError(error) && error.code === 'RESOURCE_NOT_FOUND')
      if (!missing) throw error
      const hint = `Run \`plugboard resources ${server}\` to see what it has.`
      throw new NotFound('resource', uri, { server, stage: 'call', cause: error, hint })
    }
  }

  async subscribe(server: string, uri: string, context: CallContext): Promise<void> {
    const connection = this.#on.connection(server)
    await this.#on.permit(server, 'resources/subscribe', uri, context)
    const capabilities = await capabilitiesOf(server, connection, context.signal)
    if (capabilities.resources?.subscribe !== true)
      throw new InvalidInput(`"${server}" does not notify clients when its resources change.`, {
        server,
        stage: 'call',
      })
    await connection.subscribe(uri)
  }

  async prompt(
    server: string,
    name: string,
    args: Readonly<Record<string, string>>,
    context: CallContext,
  ): Promise<PromptResult> {
    const connection = this.#on.connection(server)
    await this.#on.permit(server, 'prompts/get', name, context)
    const known = await connection.list('prompts', context.signal)
    const prompt = known.find((one) => one.name === name)
    if (!prompt)
      throw new NotFound('prompt', name, {
        server,
        stage: 'call',
        hint:
          known.length === 0
            ? `"${server}" has no prompts.`
            : `It has ${listed(known.map((one) => one.name))}.`,
      })
    checkArguments(server, prompt, args)
    const result = await connection.request('prompts/get', { name, arguments: args }, requestOptions(context))
    const messages = Array.isArray(result.messages) ? result.messages.flatMap(messageOf) : []
    return {
      ...(typeof result.description === 'string' && { description: result.description }),
      messages,
    }
  }

  async complete(
    server: string,
    of: CompletionOf,
    given: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Completion> {
    const connection = this.#on.connection(server)
    this.#on.requireReadable(server)
    const capabilities = await capabilitiesOf(server, connection, signal)
    if (!capabilities.completions) return { values: [], hasMore: false }
    const ref =
      'prompt' in of ? { type: 'ref/prompt', name: of.prompt } : { type: 'ref/resource', uri: of.template }
    const { completion } = await connection.request(
      'completion/complete',
      {
        ref,
        argument: { name: of.argument, value: of.value },
        ...(Object.keys(given).length > 0 && { context: { arguments: given } }),
      },
      { signal },
    )
    if (!isObject(completion) || !Array.isArray(completion.values)) return { values: [], hasMore: false }
    return {
      values: completion.values.filter((value): value is string => typeof value === 'string'),
      ...(typeof completion.total === 'number' && { total: completion.total }),
      hasMore: completion.hasMore === true,
    }
  }

  /** The lists of each server that has them, or of the requested one. */
  async each<T>(
    of: OfRequest,
    offered: (capabilities: ServerCapabilities) => boolean,
    list: (connection: Connection, signal?: AbortSignal) => Promise<readonly T[]>,
    known?: (connection: Connection) => readonly T[] | undefined,
  ): Promise<readonly { readonly server: string; readonly items: readonly T[] }[]> {
    const read = async (server: string, connection: Connection) => {
      const remembered = known?.(connection)
      if (remembered) return { server, items: remembered }
      const capabilities = await capabilitiesOf(server, connection, of.signal)
      return { server, items: offered(capabilities) ? await list(connection, of.signal) : [] }
    }
    if (of.server !== undefined) {
      const connection = this.#on.connection(of.server)
      this.#on.requireReadable(of.server)
      return [await read(of.server, connection)]
    }
    const readable = this.#on.connections().filter(([name]) => this.#on.isReadable(name))
    const all = await Promise.allSettled(readable.map(([name, one]) => read(name, one)))
    return all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  }
}

function has(capability: 'resources' | 'prompts') {
  return (capabilities: ServerCapabilities) => capabilities[capability] !== undefined
}

async function capabilitiesOf(
  server: string,
  connection: Connection,
  signal?: AbortSignal,
): Promise<ServerCapabilities> {
  const state = await connection.settled(signal)
  switch (state.kind) {
    case 'connected':
      return state.session.capabilities
    case 'failed':
    case 'needs-auth':
      throw state.error
    case 'disabled':
      throw disabledError(server, state.reason)
    case 'pending':
      return {}
  }
}

function requestOptions({ signal, timeoutMs, onProgress }: CallContext) {
  return { signal, timeoutMs, onProgress }
}

function isInvalidParams(error: unknown): error is PlugboardError {
  return (
    error instanceof ToolError &&
    error.cause instanceof JsonRpcError &&
    error.cause.code === RPC.invalidParams
  )
}

function checkArguments(
  server: string,
  prompt: PromptDefinition,
  args: Readonly<Record<string, string>>,
): void {
  const declared = Array.isArray(prompt.arguments) ? prompt.arguments.filter(isObject) : []
  const names = declared.flatMap(({ name }) => (typeof name === 'string' ? [name] : []))
  const fault = (problem: string) =>
    new InvalidInput(`The arguments for the prompt ${server}.${prompt.name} do not fit: ${problem}.`, {
      server,
      stage: 'call',
      hint: names.length === 0 ? 'It takes none.' : `It takes ${listed(names)}.`,
    })
  const missing = declared.filter(
    ({ name, required }) => required === true && typeof name === 'string' && !Object.hasOwn(args, name),
  )
  if (missing.length > 0)
    throw fault(
      `${listed(missing.map(({ name }) => String(name)))} ${missing.length > 1 ? 'are' : 'is'} missing`,
    )
  const extra = Object.keys(args).filter((name) => !names.includes(name))
  if (extra.length > 0) throw fault(`it does not take ${listed(extra)}`)
}

function listed(names: readonly string[]): string {
  return names.length > 8 ? `${names.slice(0, 8).join(', ')}, …` : names.join(', ')
}

function contentOf(item: unknown, asked: string): ResourceContent[] {
  if (!isObject(item)) return []
  const { uri, mimeType, text, blob, _meta } = item
  const base = {
    uri: typeof uri === 'string' ? uri : asked,
    ...(typeof mimeType === 'string' && { mimeType }),
    ...(isObject(_meta) && { _meta }),
  }
  if (typeof text === 'string') return [{ ...base, text }]
  return typeof blob === 'string' ? [{ ...base, blob }] : []
}

function messageOf(item: unknown): PromptMessage[] {
  if (!isObject(item) || (item.role !== 'user' && item.role !== 'assistant')) return []
  return [{ role: item.role, content: item.content }]
}
