// index.ts: the public API of @plugboard/codebase, nothing else. Importing it is cheap: the protocol, the
// parsers and the model are loaded when they are first used.
import type { McpServerFactory, Transport } from '@modelcontextprotocol/server'
import type { Codebase } from './codebase.ts'
import type { TextEmbedder } from './semantic/text-embedder.ts'
import type { HttpHandle, HttpOptions } from './transports/http.ts'
import { linkedPair } from './transports/linked.ts'
import type { CodebaseOptions, CodebaseStatus, IndexProgress } from './types.ts'

export { CodebaseError, type CodebaseErrorCode } from './errors.ts'
export type { EmbeddingChoice } from './semantic/embedding-choice.ts'
export { type EmbeddingFlags, embeddingsFrom } from './semantic/model-settings.ts'
export type { TextEmbedder } from './semantic/text-embedder.ts'
export type { HttpHandle, HttpOptions } from './transports/http.ts'
export type { CodebaseOptions, CodebaseStatus, IndexProgress } from './types.ts'

/** A server on stdio, and how to end it. */
export interface StdioHandle {
  /** Settles when the other side has disconnected and everything is closed. */
  readonly closed: Promise<void>
  close(): Promise<void>
}

/** The search as an MCP server. */
export interface CodebaseServer {
  /** Serves one connection over any transport, in both protocol eras. */
  connect(transport: Transport): Promise<void>
  /** The client's end of a linked pair, already served; start it by connecting a client to it. */
  inProcess(): Transport
  /** Serves standard input and output (or the given streams) until input ends. */
  serveStdio(streams?: {
    readonly input: NodeJS.ReadableStream
    readonly output: NodeJS.WritableStream
  }): Promise<StdioHandle>
  serveHttp(options?: HttpOptions): Promise<HttpHandle>
  /**
   * Why a user should be asked before this call: it names a hidden or ignored file, or one that holds credentials. For a program
   * that asks, and serves with `protectedFiles: 'gated'`.
   */
  reasonToAsk(tool: string, args: Readonly<Record<string, unknown>>): Promise<string | undefined>
  status(): Promise<CodebaseStatus>
  /** Why the chosen model cannot be used, if so: everything else still works. */
  modelProblem(): Promise<string | undefined>
  /** Builds the index anew and settles when it is done; an abort rejects and leaves the text index as it was. */
  reindex(options?: {
    readonly signal?: AbortSignal
    readonly onProgress?: (progress: IndexProgress) => void
  }): Promise<CodebaseStatus>
  /** Removes this root's index from the disk. */
  drop(): Promise<void>
  close(): Promise<void>
}

/**
 * The model that comes with the install, for short texts of a program. Undefined when it was left out. Its thread starts with the
 * first text.
 *
 * @example
 * const embedder = await openTextEmbedder()
 * console.log((await embedder?.embed('reads a file'))?.length) // 384
 * await embedder?.close()
 */
export async function openTextEmbedder(): Promise<TextEmbedder | undefined> {
  const { textEmbedder } = await import('./semantic/text-embedder.ts')
  return textEmbedder()
}

/**
 * A server that searches one folder.
 *
 * @example
 * const server = createCodebaseServer({ root: process.cwd() })
 * await (await server.serveStdio()).closed
 * await server.close()
 */
export function createCodebaseServer(options: CodebaseOptions): CodebaseServer {
  // Loaded on first use: importing this module, and making a server that is never called, should cost nothing.
  let loaded: Promise<Codebase> | undefined
  const code = () => {
    loaded ??= import('./codebase.ts').then((module) => new module.Codebase(options))
    return loaded
  }
  const closers = new Set<() => Promise<void>>()
  const factory = async () => (await import('./mcp.ts')).buildServer(await code())

  const connect = async (transport: Transport) => {
    const [{ serveStdio }, { unstructuredWhenOld }] = await Promise.all([
      import('@modelcontextprotocol/server/stdio'),
      import('./transports/unstructured.ts'),
    ])
    const handle = serveStdio(factory, { transport: unstructuredWhenOld(transport) })
    closers.add(() => handle.close())
  }
  return {
    connect,
    inProcess() {
      const [client, server] = linkedPair()
      // A failure to load the protocol closes the pair; the client sees a closed connection.
      connect(server)
        .then(async () => (await code()).warmUp())
        .catch(() => server.close())
      return client
    },
    async serveStdio(streams) {
      void code().then((codebase) => codebase.warmUp())
      const handle = await serveStreams(factory, streams)
      closers.add(() => handle.close())
      return handle
    },
    async serveHttp(http) {
      const { serveHttp } = await import('./transports/http.ts')
      void code().then((codebase) => codebase.warmUp())
      const handle = await serveHttp(factory, http)
      closers.add(() => handle.close())
      return handle
    },
    reasonToAsk: async (tool, args) => (await code()).reasonToAsk(tool, args),
    status: async () => (await code()).status(),
    modelProblem: async () => (await code()).modelProblem(),
    reindex: async (how) => (await code()).reindex(how?.signal, how?.onProgress),
    drop: async () => (await code()).drop(),
    async close() {
      const all = [...closers]
      closers.clear()
      await Promise.allSettled(all.map((close) => close()))
      await (await loaded)?.close()
    },
  }
}

async function serveStreams(
  factory: McpServerFactory,
  streams: Parameters<CodebaseServer['serveStdio']>[0],
): Promise<StdioHandle> {
  const [{ LineTransport }, { unstructuredWhenOld }, { serveStdio }] = await Promise.all([
    import('./transports/stdio.ts'),
    import('./transports/unstructured.ts'),
    import('@modelcontextprotocol/server/stdio'),
  ])
  const transport = new LineTransport(
    (streams?.input ?? process.stdin) as import('node:stream').Readable,
    (streams?.output ?? process.stdout) as import('node:stream').Writable,
  )
  let settle: () => void = () => undefined
  const closed = new Promise<void>((done) => {
    settle = done
  })
  const handle = serveStdio(factory, { transport: unstructuredWhenOld(transport) })
  const inner = transport.onclose
  transport.onclose = () => {
    inner?.()
    settle()
  }
  return { closed, close: () => handle.close() }
}
