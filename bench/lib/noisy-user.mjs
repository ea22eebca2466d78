// noisy-user.mjs URL TOKEN COUNT: one user with many connections, each calling as fast as it is answered, until it is ended.
import { RawConnection } from './raw-http.mjs'

const [, , url, token, count] = process.argv
const version = '2025-11-25'
const authorization = `Bearer ${token}`
const clientInfo = { name: 'noise', version: '1' }

async function connection() {
  const one = new RawConnection(url)
  const params = { protocolVersion: version, capabilities: {}, clientInfo }
  const { headers } = await one.post(
    { jsonrpc: '2.0', id: 0, method: 'initialize', params },
    { authorization },
  )
  const all = { authorization, 'mcp-protocol-version': version, 'mcp-session-id': headers['mcp-session-id'] }
  let id = 0
  const call = { name: 'echo', arguments: { text: 'noise' } }
  return () => one.post({ jsonrpc: '2.0', id: ++id, method: 'tools/call', params: call }, all)
}

const calls = []
for (let n = 0; n < Number(count); n++) calls.push(await connection())
process.send?.('ready')
await Promise.all(
  calls.map(async (call) => {
    for (;;) await call()
  }),
)
