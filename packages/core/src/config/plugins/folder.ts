// folder.ts: a plugin folder → the servers that its `.mcp.json` and its manifest name. It reads and starts nothing.
import { realpath } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { readTextFile } from '../../files/index.ts'
import { CONFIG_LIMITS } from '../../limits.ts'
import { excerpt } from '../import/excerpt.ts'
import { isObject, parseJsonTree, plain } from '../import/tree.ts'
import type { Diagnostic } from '../types.ts'
import { type BundleContext, isBundleName, readBundle } from './bundle.ts'
import { mapTexts, type RawDocument, type RawServer, readServers } from './raw-servers.ts'

/** Where a manifest may lie; the first one found counts. */
const MANIFESTS = [join('.claude-plugin', 'plugin.json'), 'plugin.json']
const ROOT_VARIABLE = /\$\{(?:CLAUDE|PLUGBOARD)_PLUGIN_ROOT\}/g
/** Files that one manifest may point to. */
const MAX_PARTS = 64
const SHAPE = { keys: ['mcpServers'], flat: true } as const

export function folderFiles(folder: string): readonly string[] {
  return ['.mcp.json', ...MANIFESTS].map((name) => join(folder, name))
}

/** One document per file, in order of precedence: of two servers with one name, the first is kept. */
export async function readPluginFolder(
  folder: string,
  context: BundleContext,
): Promise<readonly RawDocument[]> {
  const root = resolve(folder)
  const own = await readServerFile(join(root, '.mcp.json'))
  const manifest = await readManifestFile(root, context)
  if (!own && !manifest)
    return [
      {
        source: root,
        servers: new Map(),
        diagnostics: [
          {
            severity: 'warning',
            file: root,
            message: 'There is neither a .mcp.json nor a plugin.json in this plugin folder.',
            hint: 'Check the path; a plugin folder has one of them at its top.',
          },
        ],
      },
    ]
  const documents = [...(own ? [own] : []), ...(manifest ?? [])]
  return firstOfEachName(documents.map((document) => withRoot(document, root)))
}

async function readServerFile(file: string): Promise<RawDocument | undefined> {
  const read = await readTextFile(file, CONFIG_LIMITS.fileBytes)
  if (read.kind === 'missing') return undefined
  if (read.kind === 'text') return readServers(read.text, file, SHAPE)
  return onlyDiagnostic({ severity: 'error', file, message: `This file ${read.message}.`, hint: read.hint })
}

const onlyDiagnostic = (diagnostic: Diagnostic): RawDocument => ({
  source: diagnostic.file,
  servers: new Map(),
  diagnostics: [diagnostic],
})

async function readManifestFile(
  root: string,
  context: BundleContext,
): Promise<readonly RawDocument[] | undefined> {
  for (const name of MANIFESTS) {
    const file = join(root, name)
    const read = await readTextFile(file, CONFIG_LIMITS.fileBytes)
    if (read.kind === 'missing') continue
    if (read.kind === 'problem')
      return [
        onlyDiagnostic({ severity: 'error', file, message: `This file ${read.message}.`, hint: read.hint }),
      ]
    return readManifestText(read.text, file, root, context)
  }
  return undefined
}

async function readManifestText(
  text: string,
  file: string,
  root: string,
  context: BundleContext,
): Promise<readonly RawDocument[]> {
  const tree = parseJsonTree(text)
  const value = tree.kind === 'tree' ? plain(tree.root) : undefined
  if (!isObject(value)) return [readServers(text, file, { keys: ['mcpServers'], flat: false })]
  const servers = value.mcpServers
  if (servers === undefined) return [{ source: file, servers: new Map(), diagnostics: [] }]
  if (isObject(servers)) return [readServers(text, file, { keys: ['mcpServers'], flat: false })]
  const parts = Array.isArray(servers) ? servers : [servers]
  const documents: RawDocument[] = []
  if (parts.length > MAX_PARTS)
    documents.push(
      onlyDiagnostic({
        severity: 'warning',
        file,
        path: 'mcpServers',
        message: `Only the first ${MAX_PARTS} of ${parts.length} parts are read.`,
      }),
    )
  for (const part of parts.slice(0, MAX_PARTS)) {
    if (typeof part === 'string') documents.push(await readReferenced(part, file, root, context))
    else if (isObject(part)) documents.push({ source: file, servers: inline(part), diagnostics: [] })
    else
      documents.push(
        onlyDiagnostic({
          severity: 'error',
          file,
          path: 'mcpServers',
          message: 'A path, or an object of servers, is expected here.',
        }),
      )
  }
  return documents
}

const inline = (servers: Readonly<Record<string, unknown>>): ReadonlyMap<string, RawServer> =>
  new Map(
    Object.entries(servers)
      .filter(([name]) => name !== '__proto__')
      .map(([name, value]) => [name, { value }]),
  )

/** A file that the manifest points to. It must be inside the plugin after following links. */
async function readReferenced(
  path: string,
  manifest: string,
  root: string,
  context: BundleContext,
): Promise<RawDocument> {
  const refuse = (message: string, hint: string) =>
    onlyDiagnostic({ severity: 'error', file: manifest, path: 'mcpServers', message, hint })
  const wanted = resolve(
    root,
    path.replace(ROOT_VARIABLE, () => root),
  )
  if (!isInside(wanted, root))
    return refuse(`"${excerpt(path)}" is outside the plugin.`, 'Name a file inside the plugin.')
  const real = await realpath(wanted).catch(() => undefined)
  if (real === undefined)
    return refuse(`There is no "${excerpt(path)}" in the plugin.`, 'Correct the path, or add the file.')
  if (!isInside(real, await realpath(root)))
    return refuse(
      `"${excerpt(path)}" is a link that leads outside the plugin.`,
      'Name a file inside the plugin.',
    )
  if (isBundleName(real)) return readBundle(real, context)
  return (
    (await readServerFile(real)) ??
    refuse(`There is no "${excerpt(path)}" in the plugin.`, 'Correct the path, or add the file.')
  )
}

function isInside(path: string, root: string): boolean {
  const way = relative(root, path)
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

function withRoot(document: RawDocument, root: string): RawDocument {
  const servers = [...document.servers].map(([name, server]) => {
    // A function, because a folder's name may contain replacement patterns such as `$&`.
    const value = mapTexts(server.value, (text) => text.replace(ROOT_VARIABLE, () => root))
    return [name, { ...server, value }] as const
  })
  return { ...document, servers: new Map(servers) }
}

function firstOfEachName(documents: readonly RawDocument[]): readonly RawDocument[] {
  const seen = new Map<string, string>()
  return documents.map((document) => {
    const servers = new Map<string, RawServer>()
    const diagnostics: Diagnostic[] = [...document.diagnostics]
    for (const [name, server] of document.servers) {
      const first = seen.get(name)
      if (first === undefined) servers.set(name, server)
      else
        diagnostics.push({
          severity: 'warning',
          file: document.source,
          ...(server.line !== undefined && { line: server.line }),
          server: name,
          message: `"${excerpt(name)}" is defined by ${first} of the same plugin already; this one is left out.`,
        })
      seen.set(name, first ?? document.source)
    }
    return { source: document.source, servers, diagnostics }
  })
}
