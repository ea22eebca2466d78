// find-when-up.ts: finds what a client asked for by name, if need be after the servers have come up that may have it, and waits
// for no others.
import type { Board } from '@plugboard/core'

export interface FindOptions {
  /** May this server have it, and may the client see it? */
  may(server: string): boolean
  /** The name says which server it means; otherwise any may have it. */
  readonly named: boolean
  /** How long servers that are coming up are waited for. */
  readonly waitMs: number
  readonly signal: AbortSignal
}

/** Rejects when the one server that must have it is away: that is another thing than not to have it. */
export async function findWhenUp<T>(
  board: Board,
  look: () => T | undefined,
  { may, named, waitMs, signal }: FindOptions,
): Promise<T | undefined> {
  const found = look()
  if (found) return found
  const asked = board.servers().filter(({ name }) => may(name))
  // A failed server that must have it is tried again; the board sees to it that this does not happen too often.
  const coming = asked
    .filter(({ state }) => state === 'pending' || (named && state === 'failed'))
    .map(({ name }) => name)
  for await (const _ of arrivals(coming, (name) => board.connection(name).needed(signal), waitMs)) {
    const now = look()
    if (now) return now
  }
  const [only, ...more] = asked
  if (!named || !only || more.length > 0) return undefined
  const { state } = board.connection(only.name)
  if (state.kind === 'failed' || state.kind === 'needs-auth') throw state.error
  return undefined
}

/** The names in the order in which their work ends, well or badly, until the time is up. */
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
