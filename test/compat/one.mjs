// one.mjs: one server's check in a process of its own, so that nothing else delays it and its parent can
// end it. It gets its task over the channel of `fork`, and answers there.
import { checkServer, checkWithSdk } from './check.mjs'
import { SERVERS } from './servers.mjs'

process.once('message', async ({ name, program, mark, withSdk }) => {
  const server = SERVERS.find((one) => one.name === name)
  const outcome = await checkServer(server, program, mark)
  const sdk = withSdk ? { sdk: await checkWithSdk(server, program, mark) } : {}
  process.send({ ...outcome, ...sdk }, () => process.disconnect())
})
// The parent is gone: the answer would not be read.
process.once('disconnect', () => process.exit())
