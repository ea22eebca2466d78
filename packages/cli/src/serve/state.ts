// state.ts: what a served board keeps beyond its process: the keys that seal sessions, used ids, names of tools. With a store it
// is shared with other replicas.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { stateFolder } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import type { GatewayOptions } from '@plugboard/gateway'
import { gatewayKeys, KeyRing, openNameStore, SpentIds } from '@plugboard/gateway/parts'
import type { Invocation } from '../context.ts'
import { openReplicas } from './replicas.ts'

const KEYS_REFRESH_MS = 60 * 60 * 1000

/** Keys and state that outlive the process, so that clients can go on after a restart. */
export async function lastingState(
  invocation: Invocation,
  root: string,
  store: string | undefined,
): Promise<Pick<GatewayOptions, 'keys' | 'spent' | 'nameStore' | 'replicas'>> {
  const { host, output } = invocation
  const stateDir = stateFolder(host)
  const lost = (error: unknown) =>
    output.note(
      `Sessions of clients may end when this process restarts, because ${stateDir} cannot be written: ${error instanceof Error ? error.message : error}`,
    )
  const keys = await openKeys(invocation, stateDir, lost)
  const shared =
    store === undefined
      ? { spent: await new SpentIds(join(stateDir, 'gateway-spent'), () => host.now(), lost).open() }
      : await openReplicas(invocation, store, keys)
  const place = createHash('sha256').update(root).digest('hex').slice(0, 16)
  const names = invocation.option('names') ?? 'mcp'
  const file = join(stateDir, `gateway-names-${names}-${place}.json`)
  return { keys, ...shared, ...(names !== 'mcp' && { nameStore: await openNameStore(file, lost) }) }
}

/** Keys that can neither be read nor made are made for this process alone. */
async function openKeys(
  { host }: Invocation,
  stateDir: string,
  lost: (error: unknown) => void,
): Promise<KeyRing> {
  const read = () => gatewayKeys({ stateDir, env: host.env, now: () => host.now() })
  try {
    const keys = new KeyRing(await read())
    setInterval(() => read().then((next) => keys.replace(next), lost), KEYS_REFRESH_MS).unref()
    return keys
  } catch (error) {
    if (error instanceof InvalidInput) throw error
    lost(error)
    return KeyRing.ephemeral()
  }
}
