// find-when-up.ts: finds what a client asked for by name. If needed it first waits for the servers that may have it to come
// up, and for no others.
import type { LocalBoard } from '@plugboard/core'

export interface FindOptions {
  /** May this server have it, and may the client see it? */
  may(server: string): boolean
  /** The name tells which server it means; otherwise any may have it. */
  readonly named: boolean
  /** How long to wait for servers that are connecting. */
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** Rejects when the one server that must have it is down: that is different from not having it. */
export async function findWhenUp<T>(
  board: LocalBoard,
  look: () => T | undefined,
  { may, named, waitMs, signal }: FindOptions,
): Promise<T | undefined> {
  const found = look()
  if (found) return found
  const asked = board.servers().filter(({ name }) => may(name))
  // A failed server that must have it is tried again; the board limits how often.
  const coming = asked
    .filter(({ state }) => state === 'pending' || (named && state === 'failed'))
    .map(({ name }) => name)
  for await (const _ of arrivals(coming, (name) => board.link.connection(name).needed(signal), waitMs)) {
    const now = look()
    if (now) return now
  }
  const [only, ...more] = asked
  if (!named || !only || more.length > 0) return undefined
  const { state } = board.link.connection(only.name)
  if (state.kind === 'failed' || state.kind === 'needs-auth') throw state.error
  return undefined
}

/** Yields the names in the order in which their work ends, with success or failure, until the time is up. */
async function* arrivals(
  names: readonly string[],
  work: (name: string) => Promise<unknown>,
  ms: number,
): AsyncGenerator<string> {
  if (names.length === 0 || ms <= 0) return
  const open = new Map(
    names.map((name) => {
      const end = () => name
      return [name, work(name).then(end, end)]
    }),
  )
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<undefined>((done) => {
    timer = setTimeout(done, ms, undefined)
  })
  try {
    while (open.size > 0) {
      const name = await Promise.race([...open.values(), over])
      if (name === undefined) return
      open.delete(name)
      yield name
    }
  } finally {
    clearTimeout(timer)
  }
}
