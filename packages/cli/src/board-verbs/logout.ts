// logout: revokes a login at the server and forgets it here.
import { logout } from '@plugboard/core/auth'
import { type Invocation, words } from '../context.ts'
import { EXIT, safe } from '../output.ts'
import { reachResident } from '../resident/control.ts'
import { openResidentBoard } from '../resident/open-board.ts'
import { loginAt } from './login.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [name = ''] = words(invocation, ['NAME'])
  const { output } = invocation
  const { server, context } = await loginAt(invocation, name)
  const done = await logout(server, context)
  if (done.forgotten) await leaveConnection(invocation, name)
  output.result(done, () => {
    if (!done.forgotten) return `There was no login for ${name}.`
    const why = done.reason ? ` (${safe(done.reason)})` : ''
    return `Logged out of ${name}; ${done.revoked ? 'the server has revoked it' : `the server did not revoke it${why}`}.`
  })
  return EXIT.done
}

/** A resident board that runs keeps its connection, and with it the login: it connects anew, without one. */
async function leaveConnection(invocation: Invocation, name: string): Promise<void> {
  const reached = await reachResident(invocation.host)
  if (!reached) return
  reached.peer.close()
  const board = await openResidentBoard(invocation, {})
  // What becomes of the connection is not the outcome of the logout.
  await board?.reconnect(name).catch(() => undefined)
  await board?.close()
}
