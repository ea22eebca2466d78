// lab.mjs: the process in which the remote peers live, each behind a chaos proxy, so that their memory and handles are
// not those of the board under test. It gets commands over IPC and ends with its parent.
import { chaosProxy } from './chaos.mjs'
import { remotePeer } from './remote.mjs'

const open = new Map()
let count = 0

const orders = {
  async open({ kind, behaviour, dir, argument }) {
    const peer = await remotePeer(kind, behaviour, dir, argument)
    const proxy = await chaosProxy(peer.port)
    const id = ++count
    open.set(id, { peer, proxy })
    const scheme = kind === 'ws' ? 'ws' : 'http'
    return { id, url: `${scheme}://127.0.0.1:${proxy.port}/mcp` }
  },
  line: ({ id, plan }) => open.get(id)?.proxy.set(plan),
  drop: ({ id }) => open.get(id)?.proxy.drop(),
  sockets: ({ id }) => open.get(id)?.proxy.open() ?? 0,
  close: ({ id }) => {
    open.get(id)?.proxy.close()
    open.get(id)?.peer.close()
    open.delete(id)
  },
}

process.on('message', async ({ number, order, ...rest }) => {
  try {
    process.send({ number, value: await orders[order](rest) })
  } catch (error) {
    process.send({ number, error: String(error) })
  }
})
process.on('disconnect', () => process.exit(0))
