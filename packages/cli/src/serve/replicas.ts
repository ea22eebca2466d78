// replicas.ts: `serve --http` as one of several replicas: the store that they share, and what is needed for it.
import { InvalidInput } from '@plugboard/core/errors'
import type { GatewayOptions } from '@plugboard/gateway'
import { type KeyRing, openStore, Replicas, SharedSpentIds } from '@plugboard/gateway/parts'
import type { Invocation } from '../context.ts'
import { write } from '../streams.ts'
import type { GatewayFile } from './gateway-file.ts'

/** The address of the store: `--store`, or "store" of gateway.json. Variables in it are expanded: it may hold a password. */
export function storeUrl(
  { option, host }: Pick<Invocation, 'option' | 'host'>,
  file: GatewayFile | undefined,
): string | undefined {
  const given = option('store')
  const text = given ?? file?.config.store
  if (text === undefined) return undefined
  const title = given === undefined ? `"store" in ${file?.file}` : '--store'
  const url = text.replace(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = host.env[name]
    if (value === undefined) throw new InvalidInput(`${title} names the variable ${name}, which is not set.`)
    return value
  })
  if (!URL.canParse(url) || !['redis:', 'rediss:'].includes(new URL(url).protocol))
    throw new InvalidInput(`${title} is not an address of a store.`, {
      hint: 'Write redis://host:6379, or rediss:// for TLS; Valkey has the same.',
    })
  if (!host.env['PLUGBOARD_KEYS']?.trim())
    throw new InvalidInput(`${title} needs PLUGBOARD_KEYS: replicas open what the others sealed.`, {
      hint: 'Set PLUGBOARD_KEYS=a:KEY to the same value for every replica; `openssl rand -base64 32` makes a key.',
    })
  return url
}

/** A store that is away at the start does not keep the gateway from serving; it is told. */
export async function openReplicas(
  { output, host }: Pick<Invocation, 'output' | 'host'>,
  url: string,
  keys: KeyRing,
): Promise<Required<Pick<GatewayOptions, 'replicas' | 'spent'>>> {
  const store = await openStore(url)
  const tell = (isUp: boolean) => {
    if (!output.quiet)
      write(
        2,
        isUp
          ? 'The store is back.\n'
          : 'The store cannot be reached: this replica goes on alone, and shares nothing until it is back.\n',
      )
  }
  if (!store.isUp) tell(false)
  store.onChange(tell)
  const now = () => host.now()
  return { replicas: new Replicas(store, keys, now), spent: new SharedSpentIds(store, now) }
}

/** Where other replicas reach this one, when it is not the address that it listens on. */
export function replicaUrl({ host }: Invocation): { readonly replicaUrl?: string } {
  const url = host.env['PLUGBOARD_REPLICA_URL']
  if (url === undefined || url === '') return {}
  if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
    throw new InvalidInput(`PLUGBOARD_REPLICA_URL "${url}" is not an http or https address.`)
  return { replicaUrl: url }
}
