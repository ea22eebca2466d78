// in-process.ts: servers that run inside this program: their entries on a board, and their transports.
import type { ConfiguredServer } from '../config/types.ts'
import type { Transport } from '../connection/server-info.ts'
import { linkedPair } from '../transports/linked-pair.ts'
import type { BoardParts, InProcessServer } from './options.ts'

/** A transport to a server in this process. */
export function linkedTo(
  servers: Readonly<Record<string, InProcessServer>> | undefined,
  name: string,
): Promise<Transport> | undefined {
  const serve = servers && Object.hasOwn(servers, name) ? servers[name] : undefined
  if (!serve) return undefined
  return (async () => {
    const [ours, theirs] = linkedPair()
    await serve(theirs)
    return ours
  })()
}

export function inProcessEntries(options: Pick<BoardParts, 'inProcess' | 'servers'>): ConfiguredServer[] {
  const named = new Set(options.servers?.map(({ name }) => name))
  return Object.keys(options.inProcess ?? {})
    .filter((name) => !named.has(name))
    .map((name) => ({
      name,
      scope: 'dynamic',
      source: 'in-process',
      entry: { type: 'sdk' },
      signature: `in-process:${name}`,
    }))
}
