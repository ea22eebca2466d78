// logout: revokes a login at the server and forgets it here.
import { loginsFor, logout } from '@plugboard/core/auth'
import { type Invocation, words } from '../context.ts'
import { EXIT, safe } from '../output.ts'
import { stateDirOf } from '../plug.ts'
import { remoteServer } from './login.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name = ''] = words(invocation, ['NAME'])
  const { output, host } = invocation
  const server = await remoteServer(invocation, name)
  const { logins: settings } = await invocation.configuration()
  const { context } = loginsFor({ host, stateDir: stateDirOf(host), settings })
  const done = await logout(server, context)
  output.result(done, () => {
    if (!done.forgotten) return `There was no login for ${name}.`
    const why = done.reason ? ` (${safe(done.reason)})` : ''
    return `Logged out of ${name}; ${done.revoked ? 'the server has revoked it' : `the server did not revoke it${why}`}.`
  })
  return EXIT.done
}
