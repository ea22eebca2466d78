// builtin: the servers that are built in and run in this process, each loaded when it is first needed and closed with
// its board. A package that is not installed disables only its own server.
import { join } from 'node:path'
import { isInProcess } from '../config/transport-traits.ts'
import type { ConfiguredServer } from '../config/types.ts'
import type { Transport } from '../connection/server-info.ts'
import { InitError } from '../errors.ts'
import type { Host } from '../host.ts'
import { unsuitableRoot } from './unsuitable-root.ts'

export { type PrivateFolders, unsuitableRoot } from './unsuitable-root.ts'

/**
 * What each built-in allows without a prompt: all of these only read, and only below the project's folder. A call
 * that names a hidden or ignored file there, or one that holds credentials, still needs permission (`Builtins.asks`).
 */
export const BUILTIN_ALLOWS: Readonly<Record<string, readonly string[]>> = {
  codebase: [
    'search_code',
    'search_by_embedding',
    'list_directory',
    'read_file',
    'chunk_file',
    'chunk_files',
  ],
}

export interface BuiltinContext {
  /** The folder they serve. */
  readonly root: string
  readonly host: Host
  /** Plugboard's own folder: none of it is ever served without permission. */
  readonly home: string
  /** Where their indexes and caches may be. */
  readonly cacheDir: string
}

export interface Builtins {
  /**
   * Each serves the other end of a linked pair. Its type is not the optional package's: declarations must stand
   * alone.
   */
  readonly servers: Readonly<Record<string, (end: Transport) => Promise<void>>>
  /** Why this call needs a prompt, because of what it names; undefined when the built-in's own list decides. */
  asks(server: string, tool: string, args: Readonly<Record<string, unknown>>): Promise<string | undefined>
  /** The same servers; a built-in that must not serve this folder is disabled, with the reason. */
  fitting(servers: readonly ConfiguredServer[]): readonly ConfiguredServer[]
  close(): Promise<void>
}

/** Is this entry a built-in, rather than another server of the same name? */
export function isBuiltin({ name, entry, scope }: ConfiguredServer): boolean {
  return scope === 'dynamic' && isInProcess(entry) && Object.hasOwn(BUILTIN_ALLOWS, name)
}

export function createBuiltins(context: BuiltinContext): Builtins {
  const unfit = unsuitableRoot(context.root, { home: context.host.home, own: context.home })
  let codebase: Promise<import('@plugboard/codebase').CodebaseServer> | undefined
  const open = () => {
    codebase ??= openCodebase(context)
    return codebase
  }
  return {
    servers: { codebase: async (end) => (await open()).connect(end) },
    asks: async (server, tool, args) =>
      server === 'codebase' ? (await open()).reasonToAsk(tool, args) : undefined,
    fitting: (servers) =>
      unfit === undefined
        ? servers
        : servers.map((server) =>
            isBuiltin(server) && !server.disabled
              ? {
                  ...server,
                  disabled: { kind: 'config', text: `${unfit}; it searches project folders only` },
                }
              : server,
          ),
    close: async () => {
      const server = await codebase?.catch(() => undefined)
      await server?.close()
    },
  }
}

async function openCodebase({ root, cacheDir, host, home }: BuiltinContext) {
  const { CodebaseError, createCodebaseServer, embeddingsFrom } = await loadCodebase()
  try {
    const embeddings = embeddingsFrom(host.env)
    return createCodebaseServer({
      root,
      cacheDir: join(cacheDir, 'codebase'),
      // The board checks permission before a call reaches it.
      protectedFiles: 'gated',
      protectedFolders: [home],
      ...(embeddings && { embeddings }),
    })
  } catch (error) {
    if (!(error instanceof CodebaseError)) throw error
    throw new InitError(error.message, {
      server: 'codebase',
      stage: 'client',
      ...(error.hint !== undefined && { hint: error.hint }),
      cause: error,
    })
  }
}

async function loadCodebase() {
  try {
    return await import('@plugboard/codebase')
  } catch (error) {
    throw new InitError('The package @plugboard/codebase could not be loaded.', {
      server: 'codebase',
      stage: 'client',
      hint: 'Install it (`npm install @plugboard/codebase`), or switch it off: `plugboard disable codebase`.',
      cause: error,
    })
  }
}
