// The `agent` tool with servers of its own, and a pool that changes while a conversation goes on.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Board, type InProcessServer, openBoard } from '@plugboard/core'
import { systemHost } from '@plugboard/core/host'
import { afterEach, expect, it } from 'vitest'
import { modelServer, type Reply, type ScriptedRequest } from './fixtures/model-server.mjs'
import { runAgent } from './loop.ts'
import { userMessage } from './messages.ts'
import { chooseModel } from './models/choose.ts'

const host = systemHost({ env: {} })
const closers: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A server in this process; calling `grow` gives it one tool more, and it announces that. */
function serves(names: string[], answerMs = 0): InProcessServer {
  return (end) => {
    end.onmessage = (message) => {
      const { id, method, params } = message as {
        id?: number
        method?: string
        params?: { name?: string; protocolVersion?: string }
      }
      if (id === undefined) return
      const reply = (result: Record<string, unknown>) => end.send({ jsonrpc: '2.0', id, result })
      if (method === 'initialize')
        void reply({
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'test', version: '1' },
        })
      else if (method === 'tools/list')
        void reply({ tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })) })
      else if (method === 'tools/call') {
        if (params?.name === 'grow') {
          names.push('grown')
          void end.send({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
        }
        setTimeout(() => void reply({ content: [{ type: 'text', text: `${params?.name} done` }] }), answerMs)
      } else void end.send({ jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } })
    }
    return end.start()
  }
}

async function opened(inProcess: Record<string, InProcessServer>): Promise<Board> {
  const stateDir = mkdtempSync(join(tmpdir(), 'plugboard-agent-'))
  const rules = Object.keys(inProcess).map((name) => ({
    action: 'allow' as const,
    rule: `mcp__${name}`,
    file: 'test',
    scope: 'dynamic' as const,
  }))
  const board = await openBoard({ host, servers: [], inProcess, stateDir, rules })
  closers.push(async () => {
    await board.close()
    rmSync(stateDir, { recursive: true, force: true, maxRetries: 3 })
  })
  return board
}

async function scripted(script: (request: ScriptedRequest) => Reply) {
  const server = await modelServer(script)
  closers.push(() => server.close())
  return { server, model: chooseModel({ host, api: 'anthropic', model: 'm', baseUrl: server.url }) }
}

it('gives a sub-agent servers of its own, and closes them when it ends', async () => {
  const { server, model } = await scripted(({ user, results }) => {
    if (user !== 'dig')
      return results.length === 0
        ? { calls: [{ name: 'agent', arguments: { task: 'dig' } }] }
        : { text: results[0]?.text ?? '' }
    return results.length === 0
      ? { calls: [{ name: 'mcp__own__spade' }, { name: 'mcp__shared__secret' }] }
      : { text: results.map(({ text }) => text).join(' | ') }
  })
  const board = await opened({ shared: serves(['look', 'secret']) })
  const own = await opened({ own: serves(['spade']) })
  const kind = {
    name: 'digger',
    description: 'digs',
    tools: ['shared.look', 'own'],
    openBoard: async () => own,
  }
  let text = ''
  for await (const event of runAgent({
    host,
    board,
    model,
    subAgents: [kind],
    messages: [userMessage('go')],
  }))
    if (event.type === 'done') text = event.text
  expect(text).toContain('spade done')
  expect(text).toContain('There is no tool named "mcp__shared__secret"')
  const helper = server.requests.find(({ user }) => user === 'dig')
  expect(helper?.tools).toEqual(['mcp__own__spade', 'mcp__shared__look'])
  await expect(own.call('mcp__own__spade')).rejects.toThrow()
  expect((await board.call('mcp__shared__look')).isError).toBe(false)
})

it('offers a tool that appeared during one turn in the next', async () => {
  const { server, model } = await scripted(({ results }) =>
    results.length === 0 ? { calls: [{ name: 'mcp__alive__grow' }] } : { text: 'ok' },
  )
  const board = await opened({ alive: serves(['grow'], 700) })
  for await (const event of runAgent({ host, board, model, subAgents: false, messages: [userMessage('go')] }))
    if (event.type === 'done') expect(event.reason).toBe('end')
  expect(server.requests.map(({ tools }) => tools)).toEqual([
    ['mcp__alive__grow'],
    ['mcp__alive__grow', 'mcp__alive__grown'],
  ])
})
