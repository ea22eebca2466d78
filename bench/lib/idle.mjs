// A process of its own that connects to servers (twelve) and then does nothing: `idle.mjs board|sdk SECONDS [SERVERS]`. It counts every
// timer that fires meanwhile and prints its memory.
const fired = []
const real = { setTimeout: globalThis.setTimeout, setInterval: globalThis.setInterval }
for (const kind of ['setTimeout', 'setInterval'])
  globalThis[kind] = (callback, ms, ...args) =>
    real[kind](
      (...given) => {
        fired.push(performance.now())
        return callback(...given)
      },
      ms,
      ...args,
    )

const { configured, ECHO, openBoard, stdioEntry } = await import('./board-only.mjs')
const seconds = Number(process.argv[3])
const SERVERS = Number(process.argv[4] ?? 12)
let close

if (process.argv[2] === 'board') {
  const servers = Array.from({ length: SERVERS }, (_, n) => configured(`s${n}`, stdioEntry()))
  const opened = await openBoard({ servers })
  await opened.board.ready()
  const up = opened.board.servers().filter(({ state }) => state === 'connected').length
  if (up !== SERVERS) throw new Error(`only ${up} servers are connected`)
  close = opened.close
} else {
  const { Client } = await import('@modelcontextprotocol/client')
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  const clients = await Promise.all(
    Array.from({ length: SERVERS }, async () => {
      const client = new Client({ name: 'bench', version: '1' })
      await client.connect(new StdioClientTransport({ command: process.execPath, args: [ECHO] }))
      await client.listTools()
      return client
    }),
  )
  close = () => Promise.all(clients.map((client) => client.close()))
}
// Work that belongs to connecting settles first.
await new Promise((done) => real.setTimeout(done, 2000))
globalThis.gc?.()
fired.length = 0
await new Promise((done) => real.setTimeout(done, seconds * 1000))
globalThis.gc?.()
const { rss, heapUsed: heap } = process.memoryUsage()
process.stdout.write(`${JSON.stringify({ rss, heap, fired: fired.length })}\n`)
await close()
process.exit(0)
