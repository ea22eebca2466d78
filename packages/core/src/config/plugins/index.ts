// plugins: enabled plugin folders and .mcpb bundles → raw server documents, one for each file that names servers.
// Names stay exactly as written; they are checked later together with every other source.
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type BundleContext, isBundleName, readBundle } from './bundle.ts'
import { folderFiles, readPluginFolder } from './folder.ts'
import type { RawDocument } from './raw-servers.ts'

export type { BundleContext } from './bundle.ts'
export { readBundle } from './bundle.ts'
export { readPluginFolder } from './folder.ts'
export type { UserValues } from './manifest.ts'
export type { RawDocument, RawServer } from './raw-servers.ts'
export type { ArchiveLimits } from './unpack.ts'

/** Reads every plugin, in order. A fault in one is a diagnostic of that one; only an abort throws. */
export async function readPlugins(
  paths: readonly string[],
  context: BundleContext,
): Promise<readonly RawDocument[]> {
  const documents: RawDocument[] = []
  for (const path of paths) documents.push(...(await readPlugin(resolve(path), context)))
  return documents
}

/** The first files of a plugin, found or not. Those that a manifest names come with its documents. */
export function pluginFiles(path: string): readonly string[] {
  return isBundleName(path) ? [path] : [path, ...folderFiles(path)]
}

async function readPlugin(path: string, context: BundleContext): Promise<readonly RawDocument[]> {
  const info = await stat(path).catch(() => undefined)
  if (info?.isDirectory()) return readPluginFolder(path, context)
  if (info?.isFile() && isBundleName(path)) return [await readBundle(path, context)]
  const message = info ? 'This is neither a plugin folder nor a .mcpb file.' : 'There is no such plugin.'
  return [
    {
      source: path,
      servers: new Map(),
      diagnostics: [
        { severity: 'error', file: path, message, hint: 'Correct the path, or remove it from `plugins`.' },
      ],
    },
  ]
}
