// open-store.ts: a store by its address.
import { RedisStore } from './redis-store.ts'
import type { Store } from './store.ts'

/** `redis://` and `rediss://` (TLS), for Redis and Valkey. `?prefix=` sets what the keys begin with, `pb:` when left out. */
export async function openStore(url: string): Promise<Store> {
  const address = new URL(url)
  const prefix = address.searchParams.get('prefix') ?? 'pb:'
  address.searchParams.delete('prefix')
  return await RedisStore.open(address.href, prefix)
}
