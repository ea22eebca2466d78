// down: ends the resident process and the servers it keeps, and waits until it is gone.
import { Timeout } from '@plugboard/core/errors'
import { isRunning } from '@plugboard/core/files'
import { type Invocation, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { reachResident } from '../resident/control.ts'

const WAIT_MS = 15_000

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const { host, output } = invocation
  const reached = await reachResident(host)
  if (!reached) {
    output.result({ running: false, stopped: false }, () => 'No resident board runs.')
    return EXIT.done
  }
  const { pid } = reached.hello
  // It may be gone before its answer is here.
  await reached.peer.request('board/leave', { why: 'plugboard down' }).catch(() => undefined)
  reached.peer.close()
  for (const until = host.now() + WAIT_MS; isRunning(pid); ) {
    if (host.now() > until)
      throw new Timeout(`Process ${pid} did not end within ${WAIT_MS} ms.`, {
        hint: `End it with \`kill ${pid}\`.`,
      })
    await new Promise((done) => setTimeout(done, 20))
  }
  output.result({ running: false, stopped: true, pid }, () => `Stopped process ${pid}.`)
  return EXIT.done
}
