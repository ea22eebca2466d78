// sdk-server.ts: a server inside the embedding program, passed in by name.
import type { Transport } from '@modelcontextprotocol/client'
import type { SdkEntry } from '../config/entry.ts'
import { InitError } from '../errors.ts'
import type { TransportContext } from './open.ts'

export async function openHandedOver(entry: SdkEntry, context: TransportContext): Promise<Transport> {
  const name = entry.name ?? context.server
  const transport = await context.handOver?.(name)
  if (transport === undefined)
    throw new InitError(`No in-process server is registered as "${name}".`, {
      server: context.server,
      stage: 'transport',
      hint: 'An entry of type "sdk" works only in the program that registers the server.',
    })
  return transport
}
