// import: another client's servers, written into a file of ours.
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { maskEntry, type WritableScope } from '@plugboard/core/config'
import { CLIENTS, type ClientFormat, findClient, type ImportNote } from '@plugboard/core/config/import'
import { addServer } from '@plugboard/core/config/manage'
import { InvalidInput } from '@plugboard/core/errors'
import { type Invocation, scopeOption, words } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'

interface Item {
  readonly name: string
  readonly outcome: 'added' | 'replaced' | 'unchanged' | 'kept' | 'planned' | 'refused'
  readonly entry: unknown
  readonly from: string
  readonly file?: string
  readonly message?: string
}

export async function run(invocation: Invocation): Promise<number> {
  const [id, given] = words(invocation, ['CLIENT', 'FILE'], 2)
  const client = clientOrThrow(id)
  const files = await filesToRead(client, given, invocation)
  const notes: ImportNote[] = []
  const items: Item[] = []
  const seen = new Set<string>()
  const only = invocation.options('only')
  for (const { path, scope, text } of files) {
    const imported = client.parse(text)
    notes.push(...imported.notes)
    for (const [name, entry] of imported.servers) {
      // A client's project file stands before its global one, and wins there too.
      if (seen.has(name) || (only.length > 0 && !only.includes(name))) continue
      seen.add(name)
      items.push(await addOne(invocation, name, entry, scopeOption(invocation) ?? scope, path))
    }
  }
  const missing = only.filter((name) => !seen.has(name))
  if (missing.length > 0)
    throw new InvalidInput(`${client.title} has no server named ${missing.join(', ')}.`, {
      hint: `It has: ${[...seen].join(', ') || 'none'}.`,
    })
  report(
    invocation,
    client,
    files.map(({ path }) => path),
    items,
    notes,
  )
  return items.some(({ outcome }) => outcome === 'refused') ? EXIT.usage : EXIT.done
}

export function clientOrThrow(id: string | undefined): ClientFormat {
  const client = findClient(id ?? '')
  if (client) return client
  throw new InvalidInput(id === undefined ? 'CLIENT is missing.' : `There is no client "${id}".`, {
    hint: `Choose one of ${CLIENTS.map((known) => known.id).join(', ')}.`,
  })
}

async function filesToRead(client: ClientFormat, given: string | undefined, invocation: Invocation) {
  const { place } = await invocation.configuration()
  const candidates = given
    ? [{ path: resolve(invocation.cwd, given), scope: 'local' as WritableScope }]
    : client
        .files({ cwd: place.root, home: place.home, platform: place.platform, env: place.env })
        .map(({ path, scope }) => ({
          path,
          scope: (scope === 'project' ? 'local' : 'user') as WritableScope,
        }))
  const found = []
  for (const { path, scope } of candidates) {
    try {
      found.push({ path, scope, text: await readFile(path, 'utf8') })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (given || (code !== 'ENOENT' && code !== 'ENOTDIR'))
        throw new InvalidInput(`${path} could not be read (${code}).`, { cause: error })
    }
  }
  if (found.length === 0)
    throw new InvalidInput(`${client.title} has no configuration here.`, {
      hint: `Looked for ${candidates.map(({ path }) => shortPath(path)).join(', ')}. Name the file: plugboard import ${client.id} FILE`,
    })
  return found
}

async function addOne(
  invocation: Invocation,
  name: string,
  entry: unknown,
  scope: WritableScope,
  from: string,
): Promise<Item> {
  if (invocation.flag('dry-run')) return { name, entry, from, outcome: 'planned' }
  try {
    const request = { name, written: entry, scope, replace: invocation.flag('force'), keep: true }
    const { outcome, file } = await addServer(await invocation.configuration(), invocation.host, request)
    return { name, entry, from, outcome, file }
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return { name, entry, from, outcome: 'refused', message: error.message }
  }
}

function report(
  { output }: Invocation,
  client: ClientFormat,
  files: readonly string[],
  items: readonly Item[],
  notes: readonly ImportNote[],
): void {
  const { green, dim, yellow } = output.color
  output.result({ client: client.id, files, servers: items, notes }, () =>
    [
      `${client.title}: ${files.map(shortPath).join(', ')}`,
      ...items.map((item) => {
        const where = item.file ? ` → ${shortPath(item.file)}` : ''
        const mark =
          item.outcome === 'kept' || item.outcome === 'refused' ? yellow(item.outcome) : green(item.outcome)
        const kept = item.outcome === 'kept' ? 'It is there already; --force replaces it.' : undefined
        const told = item.message ?? kept
        const why = told ? `\n    ${told}` : ''
        return `  ${mark} ${item.name}${where}${why}\n    ${dim(JSON.stringify(maskEntry(item.entry)))}`
      }),
      ...(items.length === 0 ? ['  no servers in it'] : []),
      ...notes.map(noteText),
    ].join('\n'),
  )
}

export function noteText({ server, field, message }: ImportNote): string {
  return `  note: ${[server, field].filter(Boolean).join('.')}${server || field ? ': ' : ''}${message}`
}
