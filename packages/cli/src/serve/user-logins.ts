// user-logins.ts: `serve --http` with servers to which each user logs in: where the key comes from that seals the logins, and
// where they are kept.
import { dirname } from 'node:path'
import { loginsFor } from '@plugboard/core/auth'
import { type Configuration, stateFolder } from '@plugboard/core/config'
import { isRemoteEntry } from '@plugboard/core/config/transport-traits'
import type { GatewayOptions } from '@plugboard/gateway'
import { KeyRing, loginKeys, UserLogins } from '@plugboard/gateway/parts'
import type { Invocation } from '../context.ts'
import type { GatewayFile } from './gateway-file.ts'

export async function openUserLogins(
  { host, output }: Pick<Invocation, 'host' | 'output'>,
  gateway: GatewayFile | undefined,
  configuration: Configuration,
  { keys, replicas }: Pick<GatewayOptions, 'keys' | 'replicas'>,
): Promise<Pick<GatewayOptions, 'userLogins'>> {
  const { userLogins: config, publicUrl } = gateway?.config ?? {}
  if (!gateway || !config || publicUrl === undefined || !keys) return {}
  for (const name of Object.keys(config.servers)) {
    const entry = configuration.servers.find((server) => server.name === name)?.entry
    if (!entry || !isRemoteEntry(entry))
      output.note(
        `"userLogins.servers.${name}" in ${gateway.file} ${entry ? 'is not a remote server' : 'is no server of the current configuration'}.`,
      )
  }
  const stateDir = stateFolder(host)
  const place = { host, stateDir, folder: dirname(gateway.file) }
  const { context } = loginsFor({ host, stateDir, settings: configuration.logins })
  return {
    userLogins: new UserLogins({
      config,
      publicUrl,
      host,
      stateDir,
      keys,
      loginKeys: new KeyRing(await loginKeys(config.key, place)),
      shared: replicas && { store: replicas.store, bus: replicas },
      operator: context,
    }),
  }
}
