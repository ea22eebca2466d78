// users.ts: the users of a running `serve --http`: who is let in by gateway.json and the named tokens, and what follows when
// one of these files changes. The last good content of a file stays in use until the file is repaired.
import { dirname, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Exposure, HttpHandle } from '@plugboard/gateway'
import { Identity, readNamedTokens, saveLastUses } from '@plugboard/gateway/parts'
import type { Invocation } from '../context.ts'
import { write } from '../streams.ts'
import { type GatewayFile, loadGatewayFile, tokensFile } from './gateway-file.ts'
import { followFile } from './watch-file.ts'

const SAVE_USES_MS = 10_000
const EXPIRY_MS = 500

/** Adds to the configuration what the command line asks for. */
type Complete = (config: GatewayFile['config']) => GatewayFile['config']

export interface ServedUsers {
  /** There is a named token that still works. */
  readonly hasTokens: boolean
  readonly identity: Identity
  /** Follows the files from now on. */
  follow(
    handle: Pick<HttpHandle, 'applyAccess'>,
    changed: (config: GatewayFile['config']) => void,
  ): FollowedUsers
}

export interface FollowedUsers {
  /** Reads the files now. */
  again(): void
  stop(): Promise<void>
}

export async function openUsers(
  invocation: Invocation,
  gateway: GatewayFile | undefined,
  exposure: Exposure,
  complete: Complete = (config) => config,
): Promise<ServedUsers> {
  const file = tokensFile(invocation, gateway)
  const tokens = await readNamedTokens(file)
  const config = complete(gateway?.config ?? {})
  const identity = new Identity({ config, tokens, expose: exposure, now: () => invocation.host.now() })
  if (gateway && tokens.length === 0 && (config.auth?.issuers ?? []).length === 0)
    invocation.output.note(
      `No client can connect yet: ${file} has no token. Make one with \`plugboard serve token add NAME --gateway ${gateway.file}\`.`,
    )
  const now = invocation.host.now()
  return {
    identity,
    hasTokens: tokens.some(({ expires }) => expires === undefined || expires > now),
    follow: (handle, changed) => follow(invocation, identity, gateway, file, handle, changed, complete),
  }
}

function follow(
  { output }: Invocation,
  identity: Identity,
  gateway: GatewayFile | undefined,
  tokens: string,
  handle: Pick<HttpHandle, 'applyAccess'>,
  changed: (config: GatewayFile['config']) => void,
  complete: Complete,
): FollowedUsers {
  const tell = (text: string) => {
    if (!output.quiet) write(2, `${text}\n`)
  }
  const followedTokens = followFile(tokens, {
    title: tokens,
    kept: 'The last good tokens stay valid',
    mayBeMissing: true,
    read: async () => handle.applyAccess(identity.replace({ tokens: await readNamedTokens(tokens) })),
    tell,
  })
  const followedConfig =
    gateway &&
    followFile(gateway.file, {
      title: `--gateway: ${gateway.file}`,
      kept: 'The last good configuration stays in use',
      read: () => {
        const { config } = loadGatewayFile(gateway.file)
        handle.applyAccess(identity.replace({ config: complete(config) }))
        changed(config)
        for (const key of restartKeys(gateway, config))
          tell(`--gateway: ${gateway.file}: a changed "${key}" takes effect at the next start.`)
      },
      tell,
    })
  const expiry = setInterval(() => handle.applyAccess(identity.expired()), EXPIRY_MS)
  const saveUses = () => {
    const uses = identity.takeUses()
    return uses.size === 0 ? Promise.resolve() : saveLastUses(tokens, uses).catch(() => undefined)
  }
  const saving = setInterval(() => void saveUses(), SAVE_USES_MS)
  expiry.unref()
  saving.unref()
  return {
    again: () => {
      followedConfig?.again()
      followedTokens.again()
    },
    stop: async () => {
      clearInterval(expiry)
      clearInterval(saving)
      followedConfig?.stop()
      followedTokens.stop()
      await saveUses()
    },
  }
}

/** Whether there are logins of users at all, and the key that seals them. */
function fixedLogins({ userLogins }: GatewayFile['config']) {
  return userLogins && { key: userLogins.key }
}

/** The keys that a running process cannot change. */
function restartKeys({ file, config: before }: GatewayFile, now: GatewayFile['config']): string[] {
  const path = (name: string | undefined) => (name === undefined ? '' : resolve(dirname(file), name))
  return [
    ...(before.publicUrl === now.publicUrl ? [] : ['publicUrl']),
    ...(['store', 'accessLog', 'audit', 'admin', 'tls'] as const).filter(
      (key) => !isDeepStrictEqual(before[key], now[key]),
    ),
    ...(isDeepStrictEqual(fixedLogins(before), fixedLogins(now)) ? [] : ['userLogins']),
    ...(path(before.auth?.tokens) === path(now.auth?.tokens) ? [] : ['auth.tokens']),
  ]
}
