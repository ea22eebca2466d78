// A server that asks without end instead of answering: our own time limit still ends the call, and the command with it.
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { makePlace, type Place } from '../support/cli.ts'

let place: Place
beforeEach(() => {
  place = makePlace()
})
afterEach(() => place.remove())

/** Answers what a client needs to connect; a call starts the flood and is never answered. */
const flooding = (request: string) => `
  const { createInterface } = require('node:readline')
  const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
  const results = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'flood', version: '1' },
    },
    'tools/list': { tools: [{ name: 'hang', inputSchema: { type: 'object' } }] },
  }
  let asked = 0
  const flood = () => {
    for (let n = 0; n < 500; n++)
      send({ id: 'q' + asked++, method: ${JSON.stringify(request)}, params: { messages: [], maxTokens: 1, message: 'x' } })
    if (process.stdout.writableNeedDrain) process.stdout.once('drain', flood)
    else setImmediate(flood)
  }
  createInterface({ input: process.stdin }).on('line', (line) => {
    const { id, method } = JSON.parse(line)
    if (method === 'tools/call') flood()
    else if (id !== undefined && results[method]) send({ id, result: results[method] })
    else if (id !== undefined && method) send({ id, error: { code: -32601, message: 'no such method' } })
  })
`

describe('a server that floods us with requests', () => {
  it.each(['ping', 'sampling/createMessage', 'elicitation/create', 'roots/list', 'no/such'])(
    'does not keep a call from its time limit: %s',
    async (request) => {
      const script = place.write('~/flood.cjs', flooding(request))
      place.write('~/.plugboard/settings.json', {
        mcpServers: { flood: { command: 'node', args: [script] } },
      })
      const ran = await place.run('call', 'flood.hang', '--timeout', '2000', '--json')
      expect(ran.stdout + ran.stderr).toMatch(/TIMEOUT/)
    },
    90_000,
  )
})
