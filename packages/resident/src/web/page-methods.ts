// page-methods.ts: what a page asks beside the methods of a board: its tools at a glance, logs, the doctor, logins, traffic,
// questions, apps and the audit log. One table; page-configuration.ts has the rows about files.
import { auditKeysOf, auditPath, readLog } from '@plugboard/core'
import { login, loginsFor } from '@plugboard/core/auth'
import { builtinContext, checkBuiltin } from '@plugboard/core/builtin'
import { findResolution, hostForPrograms, stateFolder } from '@plugboard/core/config'
import { isRemoteEntry } from '@plugboard/core/config/transport-traits'
import { diagnose } from '@plugboard/core/doctor'
import { InvalidInput, NotFound } from '@plugboard/core/errors'
import { isObject } from '@plugboard/core/json'
import { readAudit, verifyAudit } from '@plugboard/core/permissions'
import { type BoundTool, toolTokens } from '@plugboard/core/tools'
import * as z from 'zod/mini'
import { encodeErrors } from '../board-encoding.ts'
import type { RequestContext } from '../json-rpc-socket.ts'
import { checked, name, text } from '../params.ts'
import type { ServerStatus } from '../protocol.ts'
import { type AppCsp, origins } from './app-sandbox.ts'
import { CONFIGURATION_METHODS } from './page-configuration.ts'
import type { PageContext } from './page-host.ts'
import { type PageMethod, type PageRow, row } from './page-method.ts'
import { memoryOf } from './process-memory.ts'
import { WEB_LIMITS } from './web-limits.ts'

const count = z.number('expected a number').check(z.gte(0, 'is below 0'), z.lte(Number.MAX_SAFE_INTEGER))
const ofServer = z.object({ server: name })

const ROWS = {
  'page/tools': row(z.object({}), ({ board }) => board.tools().map((tool) => toolLine(tool as BoundTool))),
  'page/search': row(z.object({ query: text }), ({ board }, { query }) =>
    board.searchTools(query, SEARCH_RESULTS).map(({ tool }) => tool.name),
  ),
  'page/status': row(z.object({}), ({ host }) => host.status()),
  'page/memory': row(z.object({}), ({ host }) => memoryByServer(host.status().servers)),
  'page/stop': row(ofServer, async ({ host, board }, { server }) => {
    if (!(await host.stop(server)))
      throw new InvalidInput(
        `"${server}" is not shared with other commands, so it cannot be stopped alone.`,
        {
          server,
          hint: 'Disable it instead.',
        },
      )
    return board.servers().map(encodeErrors)
  }),
  'logs/read': row(ofServer, async ({ board }, { server }) =>
    (await readLog(board.stateDir, server)).slice(-LOG_LINES),
  ),
  'doctor/check': row(ofServer, check),
  'login/start': row(ofServer, logIn),
  'traffic/entries': row(
    z.object({ after: z.exactOptional(count), limit: z.exactOptional(count) }),
    ({ host: { traffic } }, { after, limit }) => ({
      last: traffic.last,
      entries: traffic.entries(after, limit),
    }),
  ),
  'traffic/message': row(z.object({ number: count }), ({ host: { traffic } }, { number }) => ({
    message: traffic.message(number) ?? null,
  })),
  'questions/answer': row(
    z.object({ id: count, answer: z.unknown() }),
    ({ host: { questions } }, { id, answer }) => ({ counted: questions.answer(id, answer) }),
  ),
  'apps/open': row(z.object({ server: name, uri: name, reaches: z.boolean() }), openApp),
  'audit/read': row(z.object({}), async ({ host, params }) => {
    const system = host.hostOf(params)
    const path = auditPath(stateFolder(system))
    return { path, entries: await readAudit(path, AUDIT_LINES) }
  }),
  'audit/verify': row(z.object({}), async ({ host, params }) => {
    const system = host.hostOf(params)
    const state = stateFolder(system)
    return await verifyAudit(auditPath(state), auditKeysOf(system, state))
  }),
  ...CONFIGURATION_METHODS,
} satisfies Readonly<Record<string, PageRow>>

/** Bytes by server; of those that have a process. */
async function memoryByServer(servers: readonly ServerStatus[]): Promise<Readonly<Record<string, number>>> {
  const running = servers.flatMap(({ name, pid }) => (pid === undefined ? [] : [{ name, pid }]))
  const bytes = await memoryOf(running.map(({ pid }) => pid))
  const sums = new Map<string, number>()
  for (const { name, pid } of running) sums.set(name, (sums.get(name) ?? 0) + (bytes.get(pid) ?? 0))
  return Object.fromEntries(sums)
}

const SEARCH_RESULTS = 200
const LOG_LINES = 1000
const AUDIT_LINES = 500

export const PAGE_METHODS: ReadonlyMap<string, PageMethod> = new Map(
  Object.entries(ROWS).map(([method, { schema, run }]) => [
    method,
    (page: PageContext, params: unknown, context: RequestContext) =>
      // The row's own schema made what its function takes.
      run(page, checked(method, schema, params) as never, context),
  ]),
)

const DESCRIPTION_CHARS = 200

/** A tool in a list: a board may have thousands, so its schema is left out. */
function toolLine(tool: BoundTool) {
  const { title, description = '', annotations } = tool.definition
  const decision = tool.checkPermissions()
  return {
    name: tool.name,
    server: tool.server,
    tool: tool.definition.name,
    ...(title !== undefined && { title }),
    ...(title === undefined && annotations?.title !== undefined && { title: annotations.title }),
    description: description.slice(0, DESCRIPTION_CHARS),
    readOnly: tool.isReadOnly(),
    destructive: annotations?.destructiveHint === true,
    available: tool.available,
    permission: decision.outcome,
    tokens: toolTokens(tool),
  }
}

async function check(
  { host, board, params, configuration }: PageContext,
  { server }: { server: string },
  { signal }: RequestContext,
) {
  const files = await configuration()
  const programs = hostForPrograms(host.hostOf(params), files.place, files.folder.trusted)
  const resolution = findResolution(files, server)
  return await diagnose({
    resolution,
    host: programs,
    signal,
    needs: async () =>
      resolution.server
        ? await checkBuiltin(resolution.server, builtinContext(files.place.root, programs))
        : [],
    connection: () => board.link.connection(resolution.name),
  })
}

/** The page gets the address as progress and opens it by a click of the user; the answer comes when the login is done. */
async function logIn(
  { host, board, params, configuration }: PageContext,
  { server }: { server: string },
  { signal, progress }: RequestContext,
) {
  const files = await configuration()
  const found = findResolution(files, server).server
  if (!found || !isRemoteEntry(found.entry)) throw new InvalidInput(`"${server}" has no login.`, { server })
  const system = host.hostOf(params)
  const { context } = loginsFor({ host: system, stateDir: stateFolder(system), settings: files.logins })
  const done = await login({ ...found, entry: found.entry }, context, {
    openBrowser: false,
    onUrl: (url) => progress({ url: String(url) }),
    signal,
  })
  await board.reconnect(server, { signal })
  return done
}

/** The HTML of an MCP App as a document of the apps' origin. */
async function openApp(
  { host, board }: PageContext,
  { server, uri, reaches }: { server: string; uri: string; reaches: boolean },
  { signal }: RequestContext,
) {
  if (!uri.startsWith('ui://')) throw new InvalidInput(`${uri} is no address of an app.`, { server })
  const contents = await board.read(server, uri, { signal })
  const [content] = contents
  if (!content) throw new NotFound('resource', uri, { server })
  const html = 'text' in content ? content.text : Buffer.from(content.blob, 'base64').toString('utf8')
  if (html.length > WEB_LIMITS.appBytes) throw new InvalidInput(`The app ${uri} is too large.`, { server })
  const csp = cspOf(content._meta)
  const domains = [
    ...origins(csp.connectDomains),
    ...origins(csp.resourceDomains),
    ...origins(csp.frameDomains),
  ]
  const path = host.apps.add({ html, csp: reaches ? csp : {} })
  return { url: `${host.appOrigin()}${path}`, domains: [...new Set(domains)] }
}

function cspOf(meta: unknown): AppCsp {
  const ui = isObject(meta) ? meta.ui : undefined
  const csp = isObject(ui) ? ui.csp : undefined
  if (!isObject(csp)) return {}
  const list = (value: unknown) =>
    Array.isArray(value) ? value.filter((one) => typeof one === 'string') : []
  return {
    connectDomains: list(csp.connectDomains),
    resourceDomains: list(csp.resourceDomains),
    frameDomains: list(csp.frameDomains),
  }
}
