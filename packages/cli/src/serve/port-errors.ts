// port-errors.ts: the error texts for a port or a host name that cannot be used.
import { InvalidInput } from '@plugboard/core/errors'

const PORT: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken by another program',
  EACCES: 'needs more rights than you have',
}
const HOST: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'is not an address of this machine',
  ENOTFOUND: 'is not a known host name',
  EAI_AGAIN: 'could not be looked up now',
  EINVAL: 'cannot be listened on',
}

interface ListenFault {
  readonly code?: string
  readonly port?: number
  readonly address?: string
  readonly hostname?: string
}

export async function onPort<T>(start: () => Promise<T>): Promise<T> {
  try {
    return await start()
  } catch (error) {
    const { code = '', port, address, hostname } = error as ListenFault
    if (PORT[code])
      throw new InvalidInput(`Port ${port} ${PORT[code]}.`, {
        hint: 'Choose another with --port; --port 0 takes a free one.',
        cause: error,
      })
    if (HOST[code])
      throw new InvalidInput(`--host "${hostname ?? address}" ${HOST[code]}.`, {
        hint: 'Leave --host out to serve this machine only; 0.0.0.0 means every address of this machine.',
        cause: error,
      })
    throw error
  }
}
