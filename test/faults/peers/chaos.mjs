// chaos.mjs: a TCP proxy on loopback that does to a connection what networks and proxies do.
// One mode at a time, for every connection of the proxy; `times` bounds how often it acts before the connection is good again.
import { connect, createServer } from 'node:net'

const PAGE = '<html><body><h1>502 Bad Gateway</h1></body></html>'
const BAD_GATEWAY = `HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/html\r\ncontent-length: ${PAGE.length}\r\nconnection: close\r\n\r\n${PAGE}`

export async function chaosProxy(targetPort) {
  let plan = { mode: 'good' }
  const sockets = new Set()
  const strike = () => {
    if (plan.times === undefined) return
    plan.times--
    if (plan.times <= 0) plan = { mode: 'good' }
  }
  const keep = (socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  }
  const server = createServer({ allowHalfOpen: true }, (client) => {
    keep(client)
    if (plan.mode === 'refuse') {
      strike()
      return client.resetAndDestroy()
    }
    const upstream = connect(targetPort, '127.0.0.1')
    keep(upstream)
    client.on('data', (bytes) => fromClient(bytes, client, upstream))
    upstream.on('data', (bytes) => fromServer(bytes, client, upstream))
    client.on('end', () => {
      upstream.end()
      // A server that does not close in turn must not look like a client that did not.
      setTimeout(() => client.destroy(), 200)
    })
    upstream.on('end', () => client.end())
    client.on('close', () => upstream.destroy())
    upstream.on('close', () => plan.mode !== 'half-open' && client.destroySoon())
  })

  function fromClient(bytes, client, upstream) {
    switch (plan.mode) {
      case 'half-open':
      case 'swallow':
        return
      case 'bad-gateway':
        strike()
        upstream.destroy()
        return client.end(BAD_GATEWAY)
      case 'reset-on-request':
        strike()
        upstream.destroy()
        return client.resetAndDestroy()
      default:
        upstream.write(bytes)
    }
  }

  function fromServer(bytes, client, upstream) {
    const { mode, ms = 0, bytes: some = 0 } = plan
    switch (mode) {
      case 'half-open':
      case 'stall':
        return
      case 'delay':
        return setTimeout(() => client.writable && client.write(bytes), ms)
      case 'trickle':
        return trickle(bytes, client, upstream)
      case 'cut':
        strike()
        client.end(bytes.subarray(0, some))
        return upstream.destroy()
      case 'reset':
        strike()
        client.write(bytes.subarray(0, some), () => client.resetAndDestroy())
        return upstream.destroy()
      case 'garbage':
        strike()
        return client.write(Buffer.from(bytes.map((byte, at) => (byte * 31 + at * 17) & 0xff)))
      case 'twice':
        strike()
        client.write(bytes)
        return client.write(bytes)
      default:
        client.write(bytes)
    }
  }

  function trickle(bytes, client, upstream) {
    upstream.pause()
    let at = 0
    const next = () => {
      if (client.destroyed || at >= bytes.length) return upstream.resume()
      client.write(bytes.subarray(at, at + 7))
      at += 7
      setTimeout(next, 1)
    }
    next()
  }

  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return {
    port: server.address().port,
    set: (next) => {
      plan = { ...next }
    },
    /** Ends what is open now, as a restart of a proxy does. */
    drop: () => {
      for (const socket of sockets) socket.resetAndDestroy()
    },
    open: () => sockets.size / 2,
    close: () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
