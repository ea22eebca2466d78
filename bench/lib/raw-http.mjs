// raw-http.mjs: a keep-alive HTTP/1.1 client on a bare socket. It costs a fraction of node:http's, so that on a small
// machine the server under test is the bottleneck, not the client that measures it.
import { connect } from 'node:net'

const HEAD_END = Buffer.from('\r\n\r\n')

export class RawConnection {
  #socket
  #address
  #waiting = []
  #parts = []
  #bytes = 0
  #needed = 0

  constructor(url) {
    const { hostname, port, pathname } = new URL(url)
    this.#address = { host: hostname, port: Number(port), path: pathname }
  }

  /** One POST; resolves with { status, headers, text } of the response. Requests of one connection follow each other. */
  post(body, headers = {}) {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const { host, port, path } = this.#address
    let head = `POST ${path} HTTP/1.1\r\nHost: ${host}:${port}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: ${Buffer.byteLength(text)}\r\n`
    for (const name in headers) head += `${name}: ${headers[name]}\r\n`
    return new Promise((done, fail) => {
      this.#waiting.push({ done, fail })
      this.#open().write(`${head}\r\n${text}`)
    })
  }

  close() {
    this.#socket?.destroy()
  }

  #open() {
    if (this.#socket && !this.#socket.destroyed) return this.#socket
    const { host, port } = this.#address
    const socket = connect({ host, port, noDelay: true })
    socket.on('data', (chunk) => this.#take(chunk))
    const lost = (error) => {
      for (const { fail } of this.#waiting.splice(0)) fail(error ?? new Error('The connection was closed.'))
    }
    socket.on('error', lost)
    socket.on('close', () => lost())
    this.#socket = socket
    return socket
  }

  #take(chunk) {
    this.#parts.push(chunk)
    this.#bytes += chunk.length
    while (this.#bytes >= this.#needed && this.#bytes > 0) {
      const all = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts, this.#bytes)
      this.#parts = [all]
      const read = readResponse(all)
      if (read.needed !== undefined) {
        this.#needed = read.needed
        return
      }
      this.#needed = 0
      this.#bytes = all.length - read.end
      this.#parts = this.#bytes === 0 ? [] : [all.subarray(read.end)]
      this.#waiting.shift()?.done(read.response)
    }
  }
}

/** A whole response, or how many bytes there must be before it is worth looking again. */
function readResponse(bytes) {
  const end = bytes.indexOf(HEAD_END)
  if (end < 0) return { needed: bytes.length + 1 }
  const lines = bytes.toString('latin1', 0, end).split('\r\n')
  const status = Number(lines[0].slice(9, 12))
  const headers = {}
  for (let at = 1; at < lines.length; at++) {
    const colon = lines[at].indexOf(':')
    headers[lines[at].slice(0, colon).toLowerCase()] = lines[at].slice(colon + 1).trim()
  }
  const start = end + 4
  if (headers['transfer-encoding'] === 'chunked') return readChunks(bytes, start, status, headers)
  const stop = start + Number(headers['content-length'] ?? 0)
  if (bytes.length < stop) return { needed: stop }
  return { end: stop, response: { status, headers, text: bytes.toString('utf8', start, stop) } }
}

function readChunks(bytes, start, status, headers) {
  const parts = []
  let at = start
  for (;;) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return { needed: bytes.length + 1 }
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    const next = line + 2 + size + 2
    if (bytes.length < next) return { needed: next }
    if (size === 0)
      return { end: next, response: { status, headers, text: Buffer.concat(parts).toString('utf8') } }
    parts.push(bytes.subarray(line + 2, line + 2 + size))
    at = next
  }
}
