// port.ts: the error texts for a port or a host name that cannot be used.
import { InvalidInput } from '@plugboard/core/errors'

const PORT: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is taken by another program',
  EACCES: 'may not be used by you',
}
const HOST: Readonly<Record<string, string>> = {
  EADDRNOTAVAIL: 'is no address of this machine',
  ENOTFOUND: 'is no name that anybody knows',
  EAI_AGAIN: 'is no name that anybody knows now',
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
        hint: 'Leave --host out to serve this machine only; 0.0.0.0 stands for every address it has.',
        cause: error,
      })
    throw error
  }
}
