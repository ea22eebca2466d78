// import: another client's servers, written into a file of ours.
import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isProjectFile, maskEntry, type WritableScope } from '@plugboard/core/config'
import { CLIENTS, type ClientFormat, findClient, type ImportNote } from '@plugboard/core/config/import'
import { addServer } from '@plugboard/core/config/manage'
import { InvalidInput } from '@plugboard/core/errors'
import { type Invocation, scopeOption, words } from '../context.ts'
import { EXIT, safe, shortPath } from '../output.ts'

interface Item {
  readonly name: string
  readonly outcome: 'added' | 'replaced' | 'unchanged' | 'kept' | 'planned' | 'refused'
  readonly entry: unknown
  readonly from: string
  readonly file?: string
  readonly message?: string
  /** It came with the project, so it waits for approval. */
  readonly pending?: true
}

const ANOTHER_FILE =
  'Left out: your own file has a server of this name, and this one would replace it. Name the file to import it.'

interface Found {
  readonly path: string
  readonly scope: WritableScope
  readonly text: string
  readonly ofProject: boolean
}

export async function run(invocation: Invocation): Promise<number> {
  const [id, given] = words(invocation, ['CLIENT', 'FILE'], 2)
  if (id === undefined) return lookForAll(invocation)
  const client = clientOrThrow(id)
  const files = await filesToRead(client, given, invocation)
  const notes: ImportNote[] = []
  const items: Item[] = []
  const seen = new Set<string>()
  const only = invocation.options('only')
  // The user's own file first: a file of the project never takes a name from it.
  for (const file of [...files].sort((a, b) => Number(a.ofProject) - Number(b.ofProject))) {
    const imported = client.parse(file.text)
    notes.push(...imported.notes)
    for (const [name, entry] of imported.servers) {
      if (only.length > 0 && !only.includes(name)) continue
      if (seen.has(name)) {
        items.push({ name, entry, from: file.path, outcome: 'kept', message: ANOTHER_FILE })
        continue
      }
      seen.add(name)
      items.push(await addOne(invocation, name, entry, file))
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
  if (id === 'claude-code' || id === 'claude')
    throw new InvalidInput(`The files of Claude Code are read as they are, so there is nothing to convert.`, {
      hint: 'Run `plugboard list` to see its servers; `plugboard explain NAME` says which file one comes from.',
    })
  throw new InvalidInput(id === undefined ? 'CLIENT is missing.' : `There is no client "${id}".`, {
    hint: `Choose one of ${CLIENTS.map((known) => known.id).join(', ')}.`,
  })
}

/** Without a client: which clients have servers here, and how to take them over. It changes nothing. */
async function lookForAll(invocation: Invocation): Promise<number> {
  const { output } = invocation
  const found = await Promise.all(
    CLIENTS.map(async (client) => {
      const files = await presentFiles(client, undefined, invocation)
      const servers = files.flatMap(({ text }) => [...client.parse(text).servers.keys()])
      return { client: client.id, files: files.map(({ path }) => path), servers: [...new Set(servers)] }
    }),
  )
  const clients = found.filter(({ servers }) => servers.length > 0)
  if (clients.length === 0)
    throw new InvalidInput('No other client has servers here.', {
      hint: `Choose one of ${CLIENTS.map(({ id }) => id).join(', ')} and name its file: plugboard import CLIENT FILE`,
    })
  output.result({ clients }, () =>
    clients
      .map(
        ({ client, files, servers }) =>
          `${output.color.bold(client)}: ${safe(servers.join(', '))} (${files.map(shortPath).join(', ')})\n  plugboard import ${client}`,
      )
      .join('\n'),
  )
  return EXIT.done
}

async function filesToRead(
  client: ClientFormat,
  given: string | undefined,
  invocation: Invocation,
): Promise<readonly Found[]> {
  const found = await presentFiles(client, given, invocation)
  if (found.length > 0) return found
  const candidates = await candidateFiles(client, given, invocation)
  throw new InvalidInput(`${client.title} has no configuration here.`, {
    hint: `Looked for ${candidates.map(({ path }) => shortPath(path)).join(', ')}. Name the file: plugboard import ${client.id} FILE`,
  })
}

/** The file that was named, or where the client keeps its own. */
async function candidateFiles(
  client: ClientFormat,
  given: string | undefined,
  invocation: Invocation,
): Promise<readonly { readonly path: string; readonly scope: WritableScope }[]> {
  if (given) return [{ path: resolve(invocation.cwd, given), scope: 'local' }]
  const { root, home, platform, env } = (await invocation.configuration()).place
  return client
    .files({ cwd: root, home, platform, env })
    .map(({ path, scope }) => ({ path, scope: scope === 'project' ? 'local' : 'user' }))
}

async function presentFiles(
  client: ClientFormat,
  given: string | undefined,
  invocation: Invocation,
): Promise<readonly Found[]> {
  const { place } = await invocation.configuration()
  const candidates = await candidateFiles(client, given, invocation)
  const found: Found[] = []
  for (const { path, scope } of candidates) {
    try {
      found.push({ path, scope, text: await readFile(path, 'utf8'), ofProject: isProjectFile(path, place) })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (given || (code !== 'ENOENT' && code !== 'ENOTDIR'))
        throw new InvalidInput(`${path} could not be read (${code}).`, { cause: error })
    }
  }
  return found
}

async function addOne(
  invocation: Invocation,
  name: string,
  entry: unknown,
  { path: from, scope, ofProject }: Found,
): Promise<Item> {
  const pending = ofProject && { pending: true as const }
  if (invocation.flag('dry-run')) return { name, entry, from, outcome: 'planned', ...pending }
  try {
    const request = {
      name,
      written: entry,
      scope: scopeOption(invocation) ?? scope,
      replace: invocation.flag('force'),
      keep: true,
      ...pending,
    }
    const { outcome, file } = await addServer(await invocation.configuration(), invocation.host, request)
    return { name, entry, from, outcome, file, ...(outcome !== 'kept' && pending) }
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
        const kept = item.outcome === 'kept' ? 'It already exists; --force replaces it.' : undefined
        const waits = item.pending
          ? `It came with the project (${shortPath(item.from)}): pending approval. Run \`plugboard approve ${item.name}\` to let it start.`
          : undefined
        const told = item.message ?? kept ?? waits
        const why = told ? `\n    ${told}` : ''
        return `  ${mark} ${item.name}${where}${why}\n    ${dim(safe(JSON.stringify(item.pending ? item.entry : maskEntry(item.entry))))}`
      }),
      ...(items.length === 0 ? ['  no servers in it'] : []),
      ...notes.map(noteText),
    ].join('\n'),
  )
}

export function noteText({ server, field, message }: ImportNote): string {
  return `  note: ${[server, field].filter(Boolean).join('.')}${server || field ? ': ' : ''}${message}`
}
