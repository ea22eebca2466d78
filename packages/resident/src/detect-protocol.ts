// detect-protocol.ts: the first line of a connection, which says what the rest will be: the control protocol, or MCP as any
// client speaks it. What was read stays in the stream, except the line of an MCP client or a command.
import type { Socket } from 'node:net'
import { isObject } from '@plugboard/core/json'

const NEWLINE = 10
/** What follows their first line is no control protocol. */
const OWN_LINES = new Set(['board/mcp', 'board/run'])
const MAX_BYTES = 1024 * 1024

export interface FirstLine {
  readonly method: string
  readonly params: unknown
}

/** Undefined when nothing sensible arrived in time; the socket is destroyed then. */
export function takeFirstLine(socket: Socket, ms: number): Promise<FirstLine | undefined> {
  return new Promise((done) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const end = (answer: FirstLine | undefined) => {
      clearTimeout(timer)
      socket.off('data', onData)
      socket.off('close', onClose)
      socket.off('end', onClose)
      socket.pause()
      if (!answer) socket.destroy()
      done(answer)
    }
    const onClose = () => end(undefined)
    const onData = (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      const at = chunk.indexOf(NEWLINE)
      if (at === -1) return bytes > MAX_BYTES ? end(undefined) : undefined
      const all = Buffer.concat(chunks)
      const length = bytes - chunk.length + at
      const first = parsed(all.subarray(0, length).toString('utf8'))
      end(first)
      if (first) socket.unshift(OWN_LINES.has(first.method) ? all.subarray(length + 1) : all)
    }
    const timer = setTimeout(() => end(undefined), ms)
    socket.on('data', onData)
    socket.once('close', onClose)
    socket.once('end', onClose)
  })
}

function parsed(line: string): FirstLine | undefined {
  try {
    const message: unknown = JSON.parse(line)
    return isObject(message) && typeof message.method === 'string'
      ? { method: message.method, params: message.params }
      : undefined
  } catch {
    // Not our protocol.
    return undefined
  }
}
