// bundle.ts: a .mcpb (or older .dxt) file → the server in it, unpacked once into the cache and then found there.
import { chmod, lstat } from 'node:fs/promises'
import { join } from 'node:path'
import { Cancelled } from '../../errors.ts'
import { readTextFile } from '../../files/index.ts'
import type { Host } from '../../host.ts'
import { BUNDLE_LIMITS } from '../../limits.ts'
import { isObject, parseJsonTree, plain } from '../import/tree.ts'
import type { Diagnostic } from '../types.ts'
import { entryPoint, readManifest, type UserValues } from './manifest.ts'
import type { RawDocument } from './raw-servers.ts'
import {
  type ArchiveLimits,
  ArchiveRefused,
  type PendingBudget,
  peekArchive,
  unpackArchive,
} from './unpack.ts'

export interface BundleContext {
  /** Bundles are unpacked below `bundles` in this folder. */
  readonly cacheDir: string
  readonly host: Host
  /** Values for the bundle's settings. */
  readonly userConfig?: UserValues | undefined
  readonly signal?: AbortSignal | undefined
  readonly limits?: ArchiveLimits
  /** The bundle waits for approval: its manifest is read out of the archive, within what is left of these bytes. */
  readonly pending?: PendingBudget | undefined
}

export const isBundleName = (path: string) => /\.(?:mcpb|dxt)$/i.test(path)

/** Reads one bundle. A fault in it is a diagnostic; only an abort throws. */
export async function readBundle(file: string, context: BundleContext): Promise<RawDocument> {
  const { host, signal, limits = BUNDLE_LIMITS } = context
  const fail = (message: string, hint: string): RawDocument => ({
    source: file,
    servers: new Map(),
    diagnostics: [{ severity: 'error', file, message, hint } satisfies Diagnostic],
  })
  const bundles = join(context.cacheDir, 'bundles')
  const unpacked = (wanted?: string) =>
    unpackArchive(file, bundles, { signal, limits, wanted, prepare: (draft) => makeStartable(draft, limits) })
  try {
    const seen = context.pending && (await peekArchive(file, limits, context.pending, signal))
    const folder = seen ? join(bundles, seen.hash) : await unpacked()
    const manifest = seen ? readManifestText(seen.manifest) : await manifestOf(folder, limits)
    if (manifest.kind === 'problem')
      return fail(`Its manifest.json ${manifest.message}.`, 'Ask its author for a sound bundle.')
    const { value } = manifest
    const place = { file, folder, home: host.home, platform: host.platform }
    const { server, diagnostics } = readManifest(value, context.userConfig ?? {}, place)
    return {
      source: file,
      servers: new Map(
        server
          ? [
              [
                server.name,
                { value: server.entry, ...(server.offBecause && { offBecause: server.offBecause }) },
              ],
            ]
          : [],
      ),
      diagnostics: diagnostics.map((each) => (server ? { ...each, server: server.name } : each)),
      ...(seen && {
        unpack: () =>
          unpacked(seen.hash).then(
            () => undefined,
            (error: unknown) => faultOf(error, file, context),
          ),
      }),
    }
  } catch (error) {
    return { source: file, servers: new Map(), diagnostics: [faultOf(error, file, context)] }
  }
}

function faultOf(error: unknown, file: string, { signal, cacheDir }: BundleContext): Diagnostic {
  const fault = (message: string, hint: string): Diagnostic => ({ severity: 'error', file, message, hint })
  if (signal?.aborted) throw new Cancelled('Reading a bundle was cancelled.', { cause: error })
  if (error instanceof ArchiveRefused)
    return fault(
      `This bundle is refused. ${error.message}`,
      'Get it again from where it comes from, or do without it.',
    )
  const { code, message } = error as NodeJS.ErrnoException
  if (code === undefined) throw error
  return fault(
    code === 'ENOENT' ? 'There is no such bundle.' : `This bundle could not be unpacked (${code}).`,
    code === 'ENOENT' ? 'Check the path.' : `Check the disk and the cache folder ${cacheDir}: ${message}`,
  )
}

type Manifest =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'problem'; readonly message: string }

async function manifestOf(folder: string, limits: ArchiveLimits): Promise<Manifest> {
  const read = await readTextFile(join(folder, 'manifest.json'), limits.manifestBytes)
  if (read.kind === 'missing') return { kind: 'problem', message: 'is missing' }
  if (read.kind === 'problem') return read
  return readManifestText(read.text)
}

function readManifestText(text: string): Manifest {
  const tree = parseJsonTree(text)
  if (tree.kind === 'empty') return { kind: 'problem', message: 'is empty' }
  if (tree.kind === 'fault')
    return { kind: 'problem', message: `is not valid JSON: ${tree.reason} (line ${tree.line})` }
  return { kind: 'value', value: plain(tree.root) }
}

/** Archives made on Windows do not mark executables; a binary server's entry point is one. */
async function makeStartable(folder: string, limits: ArchiveLimits): Promise<void> {
  const manifest = await manifestOf(folder, limits)
  const server = manifest.kind === 'value' && isObject(manifest.value) ? manifest.value.server : undefined
  if (!isObject(server) || server.type !== 'binary') return
  const entry = entryPoint(server)
  const path = entry === undefined ? undefined : join(folder, entry)
  if (path !== undefined && (await lstat(path).catch(() => undefined))?.isFile()) await chmod(path, 0o700)
}
