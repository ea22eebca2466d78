// port.ts: what a person is told when the port they chose cannot be had.
import { InvalidInput } from '@plugboard/core/errors'

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken by another program',
  EACCES: 'may not be used by you',
  EADDRNOTAVAIL: 'is not on this machine at that address',
}

export async function onPort<T>(start: () => Promise<T>): Promise<T> {
  try {
    return await start()
  } catch (error) {
    const { code, port } = error as { code?: string; port?: number }
    const why = code === undefined ? undefined : WHY[code]
    if (!why) throw error
    throw new InvalidInput(`Port ${port} ${why}.`, {
      hint: 'Choose another with --port; --port 0 takes a free one.',
      cause: error,
    })
  }
}
