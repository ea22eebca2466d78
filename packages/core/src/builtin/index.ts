// builtin: the servers that come with the program and run inside it, each loaded when it is first needed and closed
// with its board. A package that is not installed costs only its own server.
import { join } from 'node:path'
import type { Transport } from '../connection/protocol.ts'
import { InitError } from '../errors.ts'
import type { Host } from '../host.ts'

/** What each built-in lets anybody use without asking: all of these only read, and only below the project's folder. */
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
  /** Where their indexes and memories may lie. */
  readonly cacheDir: string
}

export interface Builtins {
  /** Each serves the other end of a linked pair. Its type is not the optional package's: declarations must stand alone. */
  readonly servers: Readonly<Record<string, (end: Transport) => Promise<void>>>
  close(): Promise<void>
}

export function createBuiltins(context: BuiltinContext): Builtins {
  let codebase: Promise<import('@plugboard/codebase').CodebaseServer> | undefined
  return {
    servers: {
      codebase: async (end) => {
        codebase ??= openCodebase(context)
        await (await codebase).connect(end)
      },
    },
    close: async () => {
      const server = await codebase?.catch(() => undefined)
      await server?.close()
    },
  }
}

async function openCodebase({ root, cacheDir, host }: BuiltinContext) {
  const { CodebaseError, createCodebaseServer, embeddingsFrom } = await loadCodebase()
  try {
    const embeddings = embeddingsFrom(host.env)
    return createCodebaseServer({
      root,
      cacheDir: join(cacheDir, 'codebase'),
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
