// status: whether a resident process runs, and the servers it keeps.
import type { StatusResult } from '@plugboard/resident/client'
import type { Colors } from '../colors.ts'
import { type Invocation, words } from '../context.ts'
import { EXIT, safe, shortPath, table } from '../output.ts'
import { reachResident } from '../resident/control.ts'
import { placeOf } from '../resident/process.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const { host, output } = invocation
  const reached = await reachResident(host)
  if (!reached) {
    output.result(
      { running: false },
      () => 'No resident board runs; the next command that needs one starts it.',
    )
    return EXIT.done
  }
  const status = (await reached.peer.request('board/status', {})) as StatusResult
  await reached.peer.end()
  const { startedAt, ...rest } = status
  const data = {
    running: true,
    ...rest,
    socket: placeOf(host).socket,
    uptimeMs: Math.max(0, host.now() - startedAt),
  }
  output.result(data, () => text(status, data.uptimeMs, output.color))
  return EXIT.done
}

function text(status: StatusResult, uptimeMs: number, { bold, dim }: Colors): string {
  const { pid, version, clients, memoryBytes, servers } = status
  const facts = [
    `process ${pid}`,
    `version ${version}`,
    `up ${duration(uptimeMs)}`,
    `${clients} client${clients === 1 ? '' : 's'}`,
    `${Math.round(memoryBytes / 1024 / 1024)} MiB`,
  ]
  const rows = servers.map((server) => [
    bold(safe(server.name)),
    server.state,
    server.pid === undefined ? '' : String(server.pid),
    server.share,
    String(server.users),
    String(server.calls),
    duration(server.idleMs),
    dim(server.share === 'user' ? '' : shortPath(server.root)),
  ])
  const header = ['NAME', 'STATE', 'PID', 'SHARE', 'USERS', 'CALLS', 'IDLE', 'PROJECT'].map((title) =>
    dim(title),
  )
  return [
    `Running: ${facts.join(', ')}.`,
    servers.length === 0 ? 'No server is running.' : table([header, ...rows]),
  ].join('\n')
}

function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`
}
