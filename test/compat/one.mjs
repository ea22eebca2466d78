// one.mjs: one server's check in a process of its own, so that nothing else keeps it waiting and whoever started it can
// put an end to it. It is told what to do over the channel of `fork`, and answers there.
import { checkServer, checkWithSdk } from './check.mjs'
import { SERVERS } from './servers.mjs'

process.once('message', async ({ name, program, mark, withSdk }) => {
  const server = SERVERS.find((one) => one.name === name)
  const outcome = await checkServer(server, program, mark)
  const sdk = withSdk ? { sdk: await checkWithSdk(server, program, mark) } : {}
  process.send({ ...outcome, ...sdk }, () => process.disconnect())
})
// Whoever started us is gone: nobody would hear the answer.
process.once('disconnect', () => process.exit())
