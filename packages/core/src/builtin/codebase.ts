// codebase.ts: the built-in code search. The package is loaded at its first use.
import { join } from 'node:path'
import { InitError } from '../errors.ts'
import type { BuiltinContext, BuiltinServer } from './builtin-server.ts'
import { unsuitableRoot } from './unsuitable-root.ts'

export const CODEBASE: BuiltinServer = {
  create: openCodebase,
  // All of these only read, and only below the project's folder. A call that names a hidden or ignored file there, or
  // one that holds credentials, still needs permission (`reasonToAsk`).
  allow: ['search_code', 'search_by_embedding', 'list_directory', 'read_file', 'chunk_file', 'chunk_files'],
  unfit: ({ root, host, home }) => {
    const reason = unsuitableRoot(root, { home: host.home, own: home })
    return reason === undefined ? undefined : `${reason}; it searches project folders only`
  },
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
