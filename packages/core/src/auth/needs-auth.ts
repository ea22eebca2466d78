// needs-auth.ts: records for 15 minutes that a server requires a login, so other processes skip a request that would
// get 401, and tells every board when a login was made or forgotten. One small file, shared by all processes.
import { type FSWatcher, watch } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { readTextFile, withFileLock, writeFileAtomic } from '../files/index.ts'
import { AUTH_LIMITS } from '../limits.ts'
import { type AuthContext, type NeedsAuth, type RemoteServer, serverKey } from './context.ts'

export type { NeedsAuth } from './context.ts'

interface Memory {
  readonly needs: Readonly<Record<string, NeedsAuth>>
  /** When each server was last logged in to or out of. */
  readonly logins: Readonly<Record<string, number>>
}

const EMPTY: Memory = { needs: {}, logins: {} }
const fileOf = (context: AuthContext) => join(context.stateDir, 'needs-auth.json')

/** The record of a 401 that is still valid. */
export async function needsAuth(server: RemoteServer, context: AuthContext): Promise<NeedsAuth | undefined> {
  const key = serverKey(server)
  const note = context.needs ? context.needs.get(key) : (await read(context)).needs[key]
  return note && isFresh(note, context) ? note : undefined
}

export async function rememberNeedsAuth(
  server: RemoteServer,
  context: AuthContext,
  asked: Omit<NeedsAuth, 'since'> = {},
): Promise<void> {
  const note = { ...asked, since: context.host.now() }
  if (context.needs) return context.needs.set(serverKey(server), note)
  await edit(context, ({ needs, logins }) => ({
    needs: { ...needs, [serverKey(server)]: note },
    logins,
  }))
}

/** After a login or a logout: forgets the record and notifies the watchers. */
export async function forgetNeedsAuth(server: RemoteServer, context: AuthContext): Promise<void> {
  const key = serverKey(server)
  if (context.needs) return context.needs.delete(key)
  await edit(context, ({ needs, logins }) => {
    const { [key]: _gone, ...rest } = needs
    return { needs: rest, logins: { ...logins, [key]: context.host.now() } }
  })
}

/**
 * Calls back with the key (`serverKey`) of each server that was logged in to or out of, by this process or another. The
 * returned function stops watching.
 */
export async function watchLogins(context: AuthContext, onLogin: (key: string) => void): Promise<() => void> {
  const file = fileOf(context)
  await mkdir(dirname(file), { recursive: true, mode: 0o700 })
  let seen = (await read(context)).logins
  let stopped = false
  let cancelPoll: () => void = () => undefined
  let reading = Promise.resolve()
  const look = () => {
    reading = reading.then(async () => {
      const { logins } = await read(context)
      if (stopped) return
      const news = Object.keys(logins).filter((key) => logins[key] !== seen[key])
      seen = logins
      for (const key of news) onLogin(key)
    })
  }
  const watcher = tryWatch(dirname(file), (name) => {
    if (name === basename(file)) look()
  })
  const poll = () => {
    look()
    if (!stopped) cancelPoll = context.host.backgroundTimer(AUTH_LIMITS.loginPollMs, poll)
  }
  cancelPoll = context.host.backgroundTimer(AUTH_LIMITS.loginPollMs, poll)
  return () => {
    stopped = true
    cancelPoll()
    watcher?.close()
  }
}

/**
 * Some file systems report nothing, a watcher may die with its folder, and the system may have no more: the slow poll
 * remains.
 */
function tryWatch(folder: string, changed: (name: string | null) => void): FSWatcher | undefined {
  try {
    const watcher = watch(folder, { persistent: false }, (_event, name) => changed(name))
    watcher.on('error', () => undefined)
    return watcher
  } catch {
    return undefined
  }
}

function isFresh(note: NeedsAuth, { host }: AuthContext): boolean {
  return Math.abs(host.now() - note.since) < AUTH_LIMITS.needsAuthMemoryMs
}

async function edit(context: AuthContext, change: (memory: Memory) => Memory): Promise<void> {
  const file = fileOf(context)
  const options = { waitMs: AUTH_LIMITS.lockWaitMs, staleMs: AUTH_LIMITS.lockStaleMs, dirMode: 0o700 }
  await withFileLock(file, options, async () => {
    const { needs, logins } = change(await read(context))
    const live = Object.entries(needs).filter(([, note]) => isFresh(note, context))
    const recent = Object.entries(logins).sort(([, a], [, b]) => b - a)
    const memory = {
      needs: Object.fromEntries(live),
      logins: Object.fromEntries(recent.slice(0, AUTH_LIMITS.loginsRemembered)),
    }
    await writeFileAtomic(file, `${JSON.stringify(memory, null, 2)}\n`, { mode: 0o600, dirMode: 0o700 })
  })
}

async function read(context: AuthContext): Promise<Memory> {
  const outcome = await readTextFile(fileOf(context), AUTH_LIMITS.vaultEntryBytes)
  if (outcome.kind !== 'text') return EMPTY
  try {
    const memory = JSON.parse(outcome.text) as Partial<Memory>
    return {
      needs: entries(
        memory.needs,
        (note): note is NeedsAuth => typeof (note as NeedsAuth | null)?.since === 'number',
      ),
      logins: entries(memory.logins, (at): at is number => typeof at === 'number'),
    }
  } catch {
    // It is only a cache: unreadable means empty.
    return EMPTY
  }
}

/** The well-formed entries, on an object without a prototype to fall through to. */
function entries<T>(value: unknown, isGood: (item: unknown) => item is T): Readonly<Record<string, T>> {
  const good: Record<string, T> = Object.create(null)
  if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) if (isGood(item)) good[key] = item
  return good
}
