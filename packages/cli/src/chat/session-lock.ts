// session-lock.ts: one chat at a time writes to the file of a conversation; the lock of a process that was killed is free.

import { Timeout } from '@plugboard/core/errors'
import { withFileLock } from '@plugboard/core/files'

export interface HeldFile {
  release(): Promise<void>
}

const STALE_MS = 20_000

/** Undefined when another chat has it. */
export async function holdFile(path: string): Promise<HeldFile | undefined> {
  let free: () => void = () => undefined
  const released = new Promise<void>((done) => {
    free = done
  })
  let done: Promise<void> = Promise.resolve()
  try {
    await new Promise<void>((held, failed) => {
      done = withFileLock(path, { waitMs: 0, staleMs: STALE_MS, dirMode: 0o700 }, () => {
        held()
        return released
      })
      done.catch(failed)
    })
  } catch (error) {
    if (error instanceof Timeout) return undefined
    throw error
  }
  return {
    release: async () => {
      free()
      await done
    },
  }
}
