// contenders.mjs: three clients for one server: the whole board, the bare SDK with its own transport, and the raw floor
// (hand-written JSON on the same pipe or socket). Each is `{ call(text), big?(bytes), close() }`.
import { spawn } from 'node:child_process'
import http from 'node:http'
import { Client, InMemoryTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { configured, ECHO, openBoard, stdioEntry } from './board-only.mjs'

const env = { PATH: process.env.PATH }

/** Everything between a model's request and its result: name, schema, permission, order, the call, its result and the audit. */
export async function throughTheBoard(options, server) {
  const { board, close } = await openBoard({ ...options, caller: 'user' })
  await board.ready()
  const [{ state, error }] = board.servers()
  if (state !== 'connected') throw new Error(`the board did not connect: ${error}`)
  return {
    call: (text) => board.call(`mcp__${server}__echo`, { text }),
    /** The connection alone, to see where the time goes. */
    bare: (text) => board.link.request(server, 'tools/call', { name: 'echo', arguments: { text } }),
    /** Without the cutting and saving of large results: only the transport is measured. */
    big: (bytes) => board.link.request(server, 'tools/call', { name: 'big', arguments: { bytes } }),
    close,
  }
}

async function sdkClient(transport) {
  const client = new Client({ name: 'bench', version: '1' })
  await client.connect(transport)
  await client.listTools()
  return {
    call: (text) => client.callTool({ name: 'echo', arguments: { text } }),
    big: (bytes) => client.callTool({ name: 'big', arguments: { bytes } }),
    close: () => client.close(),
  }
}

/**
 * The SDK's HTTP transport leaves an abort listener behind with every call, and gets slower. It starts afresh before
 * each round, so that it is measured at its best.
 */
async function renewable(open) {
  let inner = await open()
  return {
    call: (text) => inner.call(text),
    close: () => inner.close(),
    fresh: async () => {
      await inner.close()
      inner = await open()
    },
  }
}

const initialize = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1' },
}

/** JSON lines on a pipe, and a map of the callers by id. Nothing is checked, timed or cancelled. */
export function rawPipe(child) {
  const waiting = new Map()
  let nextId = 0
  let parts = []
  child.stdout.on('data', (chunk) => {
    let start = 0
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end))
      start = end + 1
      const line = (parts.length === 1 ? parts[0] : Buffer.concat(parts)).toString()
      parts = []
      let message
      try {
        message = JSON.parse(line)
      } catch {
        continue // Some servers print a banner first.
      }
      if (message.method !== undefined && message.id !== undefined)
        child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { roots: [] } })}\n`)
      else waiting.get(message.id)?.(message)
      waiting.delete(message.id)
    }
    if (start < chunk.length) parts.push(chunk.subarray(start))
  })
  child.stdin.on('error', () => undefined)
  const send = (message) => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  return {
    notify: (method, params) => send({ method, params }),
    request: (method, params) =>
      new Promise((done) => {
        const id = ++nextId
        waiting.set(id, ({ result }) => done(result))
        send({ id, method, params })
      }),
  }
}

async function rawStdio() {
  const child = spawn(process.execPath, [ECHO], { env, stdio: ['pipe', 'pipe', 'ignore'] })
  const pipe = rawPipe(child)
  await pipe.request('initialize', initialize)
  return {
    call: (text) => pipe.request('tools/call', { name: 'echo', arguments: { text } }),
    big: (bytes) => pipe.request('tools/call', { name: 'big', arguments: { bytes } }),
    close: () =>
      new Promise((done) => {
        child.once('exit', done)
        child.stdin.end()
      }),
  }
}

function rawHttp(url) {
  const agent = new http.Agent({ keepAlive: true })
  let nextId = 0
  const request = (method, params) =>
    new Promise((done, fail) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: ++nextId, method, params })
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
      const sent = http.request(url, { method: 'POST', agent, headers }, (response) => {
        const chunks = []
        response.on('data', (chunk) => chunks.push(chunk))
        response.on('end', () => done(JSON.parse(Buffer.concat(chunks).toString()).result))
      })
      sent.on('error', fail)
      sent.end(body)
    })
  return {
    call: (text) => request('tools/call', { name: 'echo', arguments: { text } }),
    close: async () => agent.destroy(),
  }
}

export async function stdioContenders() {
  const transport = new StdioClientTransport({ command: process.execPath, args: [ECHO], env })
  return {
    board: await throughTheBoard({ servers: [configured('it', stdioEntry())] }, 'it'),
    sdk: await sdkClient(transport),
    raw: await rawStdio(),
  }
}

export async function httpContenders() {
  const child = spawn(process.execPath, [ECHO, 'http'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const port = await new Promise((done) => child.stdout.once('data', (chunk) => done(Number(chunk))))
  const url = `http://127.0.0.1:${port}/mcp`
  const contenders = {
    board: await throughTheBoard({ servers: [configured('it', { type: 'http', url, headers: {} })] }, 'it'),
    sdk: await renewable(() => sdkClient(new StreamableHTTPClientTransport(new URL(url)))),
    raw: rawHttp(url),
  }
  const closeRaw = contenders.raw.close
  contenders.raw.close = async () => {
    await closeRaw()
    child.stdin.end()
  }
  return contenders
}

function echoServer() {
  const server = new McpServer({ name: 'echo', version: '1' })
  const inputSchema = z.object({ text: z.string() })
  const annotations = { readOnlyHint: true }
  server.registerTool('echo', { description: 'Echoes a text.', inputSchema, annotations }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }))
  return server
}

/** The same server of the SDK behind both; there is no raw floor but a function call. */
export async function inProcessContenders() {
  const [near, far] = InMemoryTransport.createLinkedPair()
  await echoServer().connect(far)
  return {
    board: await throughTheBoard(
      { servers: [], inProcess: { it: (end) => echoServer().connect(end) } },
      'it',
    ),
    sdk: await sdkClient(near),
  }
}
