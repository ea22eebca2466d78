// clients.ts: the official SDK clients, v1 and v2, in both protocol versions, behind one small interface.
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'

export const KINDS = ['v1 2025-11-25', 'v2 2025-11-25', 'v2 2026-07-28'] as const
export type Kind = (typeof KINDS)[number]

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onprogress?: (progress: { readonly message?: string | undefined }) => void
  readonly timeout?: number
}

export interface ReplicaClient {
  readonly kind: Kind
  /** Notifications, and the messages of questions. */
  readonly heard: string[]
  /** The text of the answer. */
  call(tool: string, args?: Record<string, unknown>, options?: CallOptions): Promise<string>
  tools(): Promise<readonly string[]>
  prompt(name: string, args: Record<string, string>): Promise<string>
  read(uri: string): Promise<string>
  complete(prompt: string, name: string, value: string): Promise<readonly string[]>
  subscribe(uri: string): Promise<void>
  listenToTools(): Promise<void>
  setLevel(level: 'debug' | 'info'): Promise<void>
  /** Ends the session at the gateway, where there is one. */
  terminate(): Promise<void>
  readonly sessionId: string | undefined
  close(): Promise<void>
}

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
const NAME = { name: 'replicas', version: '1' }

export async function connectClient(
  kind: Kind,
  url: string,
  token: string,
  who = 'Ada',
): Promise<ReplicaClient> {
  return await (kind === 'v1 2025-11-25' ? connectV1(url, token, who) : connectV2(kind, url, token, who))
}

const requestInit = (token: string) => ({ requestInit: { headers: { Authorization: `Bearer ${token}` } } })
const message = { role: 'assistant', model: 'small', content: { type: 'text', text: 'hi' } } as const

async function connectV1(url: string, token: string, who: string): Promise<ReplicaClient> {
  const heard: string[] = []
  const client = new ClientV1(NAME, { capabilities: CAPABILITIES })
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: who } }))
  client.setRequestHandler(CreateMessageRequestSchema, () => message)
  client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file:///${who}` }] }))
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard.push('tools'))
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => void heard.push(params.uri),
  )
  client.setNotificationHandler(
    LoggingMessageNotificationSchema,
    ({ params }) => void heard.push(String(params.data)),
  )
  const transport = new HttpV1(new URL(url), requestInit(token))
  // biome-ignore lint/suspicious/noExplicitAny: the SDK's own transport does not fit its interface under exactOptionalPropertyTypes
  await client.connect(transport as any)
  return {
    kind: 'v1 2025-11-25',
    heard,
    call: async (name, args = {}, options) =>
      firstText(await client.callTool({ name, arguments: args }, CallToolResultSchema, options)),
    ...shared(client),
    subscribe: async (uri) => void (await client.subscribeResource({ uri })),
    listenToTools: async () => undefined,
    setLevel: async (level) => void (await client.setLoggingLevel(level)),
    terminate: () => transport.terminateSession(),
    get sessionId() {
      return transport.sessionId
    },
    close: () => client.close(),
  }
}

async function connectV2(kind: Kind, url: string, token: string, who: string): Promise<ReplicaClient> {
  const heard: string[] = []
  const isModern = kind === 'v2 2026-07-28'
  const client = new ClientV2(NAME, {
    capabilities: CAPABILITIES,
    versionNegotiation: { mode: isModern ? 'auto' : 'legacy' },
  })
  client.setRequestHandler('elicitation/create', async () => ({ action: 'accept', content: { name: who } }))
  client.setRequestHandler('sampling/createMessage', async () => message)
  client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: `file:///${who}` }] }))
  client.setNotificationHandler('notifications/tools/list_changed', () => void heard.push('tools'))
  client.setNotificationHandler(
    'notifications/resources/updated',
    ({ params }) => void heard.push(params.uri),
  )
  client.setNotificationHandler('notifications/message', ({ params }) => void heard.push(String(params.data)))
  const transport = new HttpV2(new URL(url), requestInit(token))
  await client.connect(transport)
  return {
    kind,
    heard,
    call: async (name, args = {}, options) => {
      const _meta = isModern ? { 'io.modelcontextprotocol/logLevel': 'info' } : {}
      return firstText(await client.callTool({ name, arguments: args, _meta }, options))
    },
    ...shared(client),
    subscribe: async (uri) => {
      if (isModern) await client.listen({ resourceSubscriptions: [uri] })
      else await client.subscribeResource({ uri })
    },
    listenToTools: async () => {
      if (isModern) await client.listen({ toolsListChanged: true })
    },
    setLevel: async (level) => {
      if (!isModern) await client.setLoggingLevel(level)
    },
    terminate: async () => {
      if (!isModern) await transport.terminateSession()
    },
    get sessionId() {
      return transport.sessionId
    },
    close: () => client.close(),
  }
}

/** What both versions of the SDK spell alike. */
interface Shared {
  listTools(): Promise<{ tools: { name: string }[] }>
  getPrompt(params: { name: string; arguments: Record<string, string> }): Promise<{ messages: unknown[] }>
  readResource(params: { uri: string }): Promise<{ contents: unknown[] }>
  complete(params: {
    ref: { type: 'ref/prompt'; name: string }
    argument: { name: string; value: string }
  }): Promise<{ completion: { values: string[] } }>
}

function shared(client: Shared): Pick<ReplicaClient, 'tools' | 'prompt' | 'read' | 'complete'> {
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    prompt: async (name, args) =>
      JSON.stringify((await client.getPrompt({ name, arguments: args })).messages),
    read: async (uri) => JSON.stringify((await client.readResource({ uri })).contents),
    complete: async (prompt, name, value) =>
      (await client.complete({ ref: { type: 'ref/prompt', name: prompt }, argument: { name, value } }))
        .completion.values,
  }
}

function firstText(result: unknown): string {
  const { content } = result as { readonly content?: readonly { readonly text?: string }[] }
  return content?.[0]?.text ?? ''
}
