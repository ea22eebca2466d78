// serve-admin.ts: the administration of a running `serve --http`: its port, its token, and users whose access is withdrawn.
import { randomBytes } from 'node:crypto'
import { dirname, join, resolve } from 'node:path'
import { plugboardHome } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import { readTextFile, writeFileAtomic } from '@plugboard/core/files'
import { AdminActions, type Gateway, type HttpHandle, Revocations, serveAdmin } from '@plugboard/gateway'
import type { Invocation } from '../context.ts'
import type { GatewayFile } from './gateway-file.ts'
import type { ServedUsers } from './serve-users.ts'

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
  const { keys, replicas } = gateway
  if (!users || (!admin && !replicas)) return async () => undefined
  const revocations = new Revocations(keys, replicas, (withdrawn) =>
    handle.applyAccess(users.identity.withdraw(withdrawn)),
  )
  await revocations.read()
  const actions = new AdminActions({
    gateway,
    revocations,
    sessions: () => handle.sessions(),
    endSession: (sid) => handle.endSession(sid),
    users: () => users.identity.users(),
    metrics: () => handle.metrics(),
  })
  if (!admin || !file) return async () => undefined
  const token = await adminToken(invocation, file, 'make')
  const served = await serveAdmin({ port: admin.port, host: admin.host, token, actions }).catch((error) => {
    const { code } = error as NodeJS.ErrnoException
    throw new InvalidInput(
      `The administration cannot listen on port ${admin.port}${code ? ` (${code})` : ''}.`,
      { hint: 'Choose another "admin.port".', cause: error },
    )
  })
  invocation.output.note(`Administration on ${served.url}; its token is in ${tokenPath(invocation, file)}.`)
  return () => served.close()
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
