// admin.ts: the administration of a running `serve --http`: its port, its token, and users whose access is withdrawn.
import { randomBytes } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { auditKeysOf, auditPath } from '@plugboard/core'
import { plugboardHome, stateFolder } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import { readTextFile, writeFileAtomic } from '@plugboard/core/files'
import { readAudit, verifyAudit } from '@plugboard/core/permissions'
import type { Gateway, HttpHandle } from '@plugboard/gateway'
import {
  AdminActions,
  Revocations,
  readLastUses,
  readNamedTokens,
  serveAdmin,
  tokenUserKey,
  UserDirectory,
} from '@plugboard/gateway/parts'
import type { AdminPage } from '@plugboard/resident/admin-page'
import type { Invocation } from '../context.ts'
import { pageFiles } from '../resident/page-files.ts'
import { type GatewayFile, tokensFile } from './gateway-file.ts'
import type { ServedUsers } from './users.ts'

const FILE_BYTES = 4096

/** Returns what ends it. */
export async function openAdmin(
  invocation: Invocation,
  gateway: Gateway,
  handle: HttpHandle,
  users: ServedUsers | undefined,
  file: GatewayFile | undefined,
): Promise<() => Promise<void>> {
  const admin = file?.config.admin
  const wantsPage = invocation.flag('ui')
  if (wantsPage && (!admin || !users))
    throw new InvalidInput('--ui shows the administration, and there is none.', {
      hint: 'Give --gateway FILE with "admin": {"port": N}.',
    })
  const { keys, replicas } = gateway
  if (!users || (!admin && !replicas)) return async () => undefined
  const revocations = new Revocations(keys, replicas, (withdrawn) =>
    handle.applyAccess(users.identity.withdraw(withdrawn)),
  )
  await revocations.read()
  const directory = new UserDirectory(replicas?.store, keys, () => users.identity.users())
  const actions = new AdminActions({
    gateway,
    revocations,
    sessions: () => handle.sessions(),
    endSession: (sid) => handle.endSession(sid),
    ...usersFor(users, directory),
    metrics: () => handle.metrics(),
    status: () => handle.status(),
    ...recordsFor(invocation, file),
  })
  if (!admin || !file) return async () => directory.close()
  const token = await adminToken(invocation, file, 'make')
  let page: AdminPage | undefined
  const served = await serveAdmin({
    port: admin.port,
    host: admin.host,
    token,
    actions,
    ...(wantsPage && {
      page: await pageFor(admin.host, token, actions, (opened) => {
        page = opened
      }),
    }),
  }).catch((error) => {
    const { code } = error as NodeJS.ErrnoException
    throw new InvalidInput(
      `The administration cannot listen on port ${admin.port}${code ? ` (${code})` : ''}.`,
      { hint: 'Choose another "admin.port".', cause: error },
    )
  })
  invocation.output.note(`Administration on ${served.url}; its token is in ${tokenPath(invocation, file)}.`)
  if (page)
    invocation.output.note(
      `Page: ${page.address()}\nThe address works once, within five minutes; later, sign in there with the token.`,
    )
  return async () => {
    directory.close()
    await served.close()
  }
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost'])

/** Loaded for `--ui` alone. */
async function pageFor(
  host: string | undefined,
  token: string,
  actions: AdminActions,
  opened: (page: AdminPage) => void,
) {
  if (host !== undefined && !LOOPBACK.has(host))
    throw new InvalidInput(`--ui is served on a loopback address only, and "admin.host" is ${host}.`, {
      hint: 'Leave "admin.host" out, and reach the port through a tunnel.',
    })
  const files = pageFiles()
  if (files === undefined)
    throw new InvalidInput('The files of the page are missing.', { hint: 'Run `npm run build`.' })
  const { AdminPage } = await import('@plugboard/resident/admin-page')
  return (url: string) => {
    const page = new AdminPage({ files, url, token, run: (method, words) => actions.run(method, words) })
    opened(page)
    return (...exchange: Parameters<AdminPage['handle']>) => page.handle(...exchange)
  }
}

/** Who is let in here, who was lately on any replica, and whose users may be. */
function usersFor({ identity }: ServedUsers, directory: UserDirectory) {
  return {
    users: () => identity.users(),
    known: () => directory.list(),
    issuers: () => identity.issuers,
  }
}

const AUDIT_LINES = 500

/** What is on disk: the named tokens and the audit log. */
function recordsFor(invocation: Invocation, file: GatewayFile | undefined) {
  const { host } = invocation
  const state = stateFolder(host)
  return {
    tokens: async () => {
      const path = tokensFile(invocation, file)
      const uses = await readLastUses(path)
      return (await readNamedTokens(path)).map(({ id, name, role, created, expires }) => ({
        name,
        key: tokenUserKey({ id }),
        created,
        ...(role !== undefined && { role }),
        ...(expires !== undefined && { expires }),
        ...(uses.get(id) !== undefined && { lastUsed: uses.get(id) }),
      }))
    },
    audit: async () => await readAudit(auditPath(state), AUDIT_LINES),
    verifyAudit: async () => ({ ...(await verifyAudit(auditPath(state), auditKeysOf(host, state))) }),
  }
}

export function tokenPath({ host }: Pick<Invocation, 'host'>, { file, config }: GatewayFile): string {
  const named = config.admin?.token
  return named === undefined
    ? join(plugboardHome(host), 'gateway-admin-token')
    : resolve(dirname(file), named)
}

/** The token of the administration: the environment's, or the file's, which is made when it is missing. */
export async function adminToken(
  invocation: Pick<Invocation, 'host'>,
  gateway: GatewayFile,
  missing: 'make' | 'refuse',
): Promise<string> {
  const given = invocation.host.env['PLUGBOARD_ADMIN_TOKEN']?.trim()
  const path = tokenPath(invocation, gateway)
  const read = given ? undefined : await readTextFile(path, FILE_BYTES)
  const token = given ?? (read?.kind === 'text' ? read.text.trim() : '')
  if (token.length >= 16) return token
  if (token !== '' || given !== undefined || missing === 'refuse')
    throw new InvalidInput(
      token === ''
        ? `There is no token of the administration: ${path} cannot be read.`
        : 'The token of the administration is too short.',
      { hint: 'It has at least 16 characters: PLUGBOARD_ADMIN_TOKEN, or the file "admin.token" names.' },
    )
  const made = randomBytes(32).toString('base64url')
  await writeFileAtomic(path, `${made}\n`, { mode: 0o600, forceMode: true, dirMode: 0o700 })
  return made
}
