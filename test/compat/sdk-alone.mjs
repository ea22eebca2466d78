// sdk-alone.mjs: the same server with the bare SDK client, as its own documentation uses it: connect, list the tools,
// close. Its outcome, and what it leaves running, is reported beside ours.
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { familyOf, leftRunning } from './processes.mjs'

const STEP_MS = 45_000
const CLOSE_MS = 10_000

export async function sdkAlone({ server, place, mark, entry, found }) {
  const timeout = server.patienceMs ?? STEP_MS
  if (entry.type === 'ws') {
    found.said = 'has no WebSocket'
    return
  }
  const client = new Client({ name: 'sdk-alone', version: '1.0.0' })
  let said
  try {
    await client.connect(transportFor(entry, place), { timeout })
    const { tools } = await client.listTools(undefined, { timeout })
    said = `lists ${tools.length}`
  } catch (error) {
    said = `fails: ${error.message
      .replace(/\s+/g, ' ')
      .replace(/: \[.*/, '')
      .slice(0, 160)}`
  }
  const before = familyOf(mark)
  const start = performance.now()
  await Promise.race([client.close().catch(() => undefined), sleep(CLOSE_MS, undefined, { ref: false })])
  const closeMs = Math.round(performance.now() - start)
  const left = entry.type === 'stdio' ? await leftRunning(mark, before) : []
  if (closeMs > 1000) said += `, closes in ${(closeMs / 1000).toFixed(1)} s`
  if (left.length > 0) said += `, leaves ${left.length} process${left.length > 1 ? 'es' : ''}`
  found.said = said
}

function transportFor(entry, place) {
  if (entry.type === 'http') return new StreamableHTTPClientTransport(new URL(entry.url))
  if (entry.type === 'sse') return new SSEClientTransport(new URL(entry.url))
  const { command, args, env, cwd } = entry
  return new StdioClientTransport({ command, args, cwd, env: { ...place.env, ...env }, stderr: 'ignore' })
}
