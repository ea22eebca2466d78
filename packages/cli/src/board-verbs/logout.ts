// logout: revokes a login at the server and forgets it here.
import { logout } from '@plugboard/core/auth'
import { type Invocation, words } from '../context.ts'
import { EXIT, safe } from '../output.ts'
import { loginAt } from './login.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name = ''] = words(invocation, ['NAME'])
  const { output } = invocation
  const { server, context } = await loginAt(invocation, name)
  const done = await logout(server, context)
  output.result(done, () => {
    if (!done.forgotten) return `There was no login for ${name}.`
    const why = done.reason ? ` (${safe(done.reason)})` : ''
    return `Logged out of ${name}; ${done.revoked ? 'the server has revoked it' : `the server did not revoke it${why}`}.`
  })
  return EXIT.done
}
