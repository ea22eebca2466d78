// page-configuration.ts: what a page does with configuration files: see what decided, approve, add, change, remove, switch and
// import. Nothing is written before its exact text was shown: a write names what the user saw.
import { createHash } from 'node:crypto'
import {
  type Configuration,
  findResolution,
  isProjectFile,
  maskEntry,
  pendingApprovals,
  type Resolution,
} from '@plugboard/core/config'
import { CLIENTS, type ClientFormat, findClient } from '@plugboard/core/config/import'
import {
  addRule,
  addServer,
  approve,
  previewRule,
  previewServer,
  removeServer,
  setEnabled,
} from '@plugboard/core/config/manage'
import { InvalidInput } from '@plugboard/core/errors'
import { readTextFile } from '@plugboard/core/files'
import { CONFIG_LIMITS } from '@plugboard/core/limits'
import { reaches, rulesAbout } from '@plugboard/core/permissions'
import * as z from 'zod/mini'
import { name, names, object } from '../params.ts'
import type { PageContext } from './page-host.ts'
import { type PageRow, row } from './page-method.ts'

const named = z.object({ name })
const scope = z.enum(['local', 'project', 'user'], 'expected local, project or user')
const written = z.object({ name, entry: object, scope })
const newRule = {
  action: z.enum(['allow', 'ask', 'deny'], 'expected allow, ask or deny'),
  rule: name,
  scope: z.enum(['local', 'user'], 'expected local or user'),
}

export const CONFIGURATION_METHODS = {
  'config/explain': row(named, async ({ configuration }, params) => {
    const files = await configuration()
    return explained(files, findResolution(files, params.name))
  }),
  'config/entry': row(named, async ({ configuration }, params) => {
    const winner = winnerOf(findResolution(await configuration(), params.name))
    // The user's own file, for the user's own form.
    return { entry: winner?.written ?? null, scope: winner?.source.scope ?? null }
  }),
  'config/pending': row(z.object({}), async ({ configuration }) => {
    const files = await configuration()
    return { entries: pendingApprovals(files), settings: files.pendingSettings }
  }),
  'config/approve': row(z.object({ name, hash: name }), async (page, params) => {
    const files = await page.configuration()
    const entry = pendingApprovals(files).find((one) => one.name === params.name)
    if (!entry || entry.hash !== params.hash)
      throw new InvalidInput(`"${params.name}" is not what was shown any more; nothing was approved.`, {
        hint: 'Look at it again.',
      })
    await approve(files, page.host.hostOf(page.params), { entries: [entry] })
    await page.board.reload()
    return {}
  }),
  'config/preview': row(written, async ({ configuration }, params) => {
    const preview = await previewServer(await configuration(), { ...params, written: params.entry })
    return { ...preview, before: preview.before ?? null, seen: seenHash(preview) }
  }),
  'config/write': row(z.object({ name, entry: object, scope, seen: name }), async (page, params) => {
    const files = await page.configuration()
    const request = { name: params.name, written: params.entry, scope: params.scope }
    const preview = await previewServer(files, request)
    if (seenHash(preview) !== params.seen) throw changedMeanwhile(preview.file)
    const added = await addServer(files, page.host.hostOf(page.params), { ...request, replace: true })
    await page.board.reload()
    return added
  }),
  'rules/preview': row(z.object(newRule), async ({ configuration }, params) => {
    const preview = await previewRule((await configuration()).place, params)
    return { ...preview, before: preview.before ?? null, seen: seenHash(preview) }
  }),
  'rules/write': row(z.object({ ...newRule, seen: name }), async (page, { seen, ...rule }) => {
    const { place } = await page.configuration()
    const preview = await previewRule(place, rule)
    if (seenHash(preview) !== seen) throw changedMeanwhile(preview.file)
    const file = await addRule(place, rule, page.host.hostOf(page.params).now())
    await page.board.reload()
    return { file }
  }),
  'config/remove': row(named, async (page, params) => {
    const removed = await removeServer(await page.configuration(), params.name)
    await page.board.reload()
    return removed
  }),
  'config/enable': row(z.object({ name, enabled: z.boolean() }), async (page, params) => {
    const host = page.host.hostOf(page.params)
    const changed = await setEnabled(await page.configuration(), host, params.name, params.enabled)
    await page.board.reload()
    return changed
  }),
  'config/clients': row(z.object({}), async ({ configuration }) => {
    const files = await configuration()
    const found = await Promise.all(CLIENTS.map((client) => foundIn(client, files)))
    return found.filter(({ servers }) => servers.length > 0)
  }),
  'config/import': row(z.object({ client: name, names }), importServers),
} satisfies Readonly<Record<string, PageRow>>

function changedMeanwhile(file: string): InvalidInput {
  return new InvalidInput(`${file} changed meanwhile; nothing was written.`, {
    hint: 'Look at the change again.',
  })
}

function seenHash({
  before,
  after,
}: {
  readonly before: string | undefined
  readonly after: string
}): string {
  return createHash('sha256')
    .update(JSON.stringify([before ?? null, after]))
    .digest('hex')
}

const winnerOf = ({ contenders }: Resolution) =>
  contenders.find(({ verdict }) => verdict.kind === 'winner')?.definition

function explained({ rules }: Configuration, resolution: Resolution) {
  const { server, trust, policy, notes, contenders } = resolution
  const winner = winnerOf(resolution)
  return {
    definitions: contenders.map(({ definition, verdict }) => ({
      file: definition.source.file,
      scope: definition.source.scope,
      ...(definition.line !== undefined && { line: definition.line }),
      verdict: verdict.kind,
      faults: definition.faults,
      // What waits for approval is shown whole: its author could hide a command inside what looks like a secret.
      entry:
        definition === winner && trust?.trusted === false
          ? definition.written
          : maskEntry(definition.written),
    })),
    ...(server && {
      signature: server.signature,
      ...(server.author && { author: server.author }),
      ...(server.disabled && { disabled: server.disabled.text }),
    }),
    ...(policy && { policy }),
    ...(trust && { trust }),
    rules: rulesAbout(resolution.name, rules).map((rule) => ({
      ...rule,
      counts: rule.action !== 'allow' || server === undefined || reaches(rule, server),
    })),
    notes,
  }
}

interface FoundServer {
  readonly name: string
  readonly entry: unknown
  readonly file: string
  readonly ofProject: boolean
}

/** The servers of another client; the user's own file comes first, and keeps its names. */
async function foundIn(client: ClientFormat, { place }: Configuration) {
  const { root, home, platform, env } = place
  const servers = new Map<string, FoundServer>()
  const problems: string[] = []
  for (const { path } of [...client.files({ cwd: root, home, platform, env })].reverse()) {
    const read = await readTextFile(path, CONFIG_LIMITS.fileBytes)
    if (read.kind !== 'text') continue
    const ofProject = isProjectFile(path, place)
    try {
      for (const [name, entry] of client.parse(read.text).servers)
        if (!servers.has(name)) servers.set(name, { name, entry, file: path, ofProject })
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }
  return { client: client.id, title: client.title, servers: [...servers.values()], problems }
}

async function importServers(
  page: PageContext,
  { client: id, names: wanted }: { readonly client: string; readonly names: readonly string[] },
) {
  const client = findClient(id)
  if (!client) throw new InvalidInput(`There is no client "${id}".`)
  const files = await page.configuration()
  const { servers } = await foundIn(client, files)
  const outcomes: { name: string; outcome: string; message?: string }[] = []
  for (const { name, entry, ofProject } of servers.filter((one) => wanted.includes(one.name)))
    try {
      const added = await addServer(files, page.host.hostOf(page.params), {
        name,
        written: entry,
        scope: ofProject ? 'local' : 'user',
        keep: true,
        ...(ofProject && { pending: true }),
      })
      outcomes.push({ name, outcome: added.outcome })
    } catch (error) {
      outcomes.push({
        name,
        outcome: 'refused',
        message: error instanceof Error ? error.message : String(error),
      })
    }
  await page.board.reload()
  return outcomes
}
