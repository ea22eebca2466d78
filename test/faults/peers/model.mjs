// model.mjs: a small MCP server without any library, the same on every transport. What it does wrong is one entry of
// behaviours.mjs, looked up at named points; everything else it does right. It knows messages, not how they travel.
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { behaviourNamed } from './behaviours.mjs'
import { acknowledged, DISCOVERY } from './modern.mjs'
import { TOOLS } from './tools.mjs'

/** What a misbehaviour shares with its observers: files of one folder, so that a second process remembers the first. */
export function memory(dir) {
  return {
    /** True the first time in all processes of this server. */
    once(key) {
      const file = join(dir, `once-${key}`)
      if (existsSync(file)) return false
      writeFileSync(file, '')
      return true
    },
    note: (file, text) => appendFileSync(join(dir, file), `${text}\n`),
  }
}

/**
 * @param channel `kind`, `dir`, `argument`, and the outputs: `send(message)`, `raw(text)`, `die(how)`.
 * @returns a function to call with every message that arrives
 */
export function modelServer(behaviourName, channel) {
  const behaviour = behaviourNamed(behaviourName)
  const { once, note } = memory(channel.dir)
  const point = (name, message, ways) =>
    behaviour[name]?.({ ...channel, ...ways, once, note, message, params: message.params ?? {} })

  return (message, ways = {}) => {
    const send = ways.send ?? channel.send
    const { id, method, params = {} } = message
    const answer = (result) =>
      send({ jsonrpc: '2.0', id, result: behaviour.modern ? complete(result) : result })
    const fail = (code, text) => send({ jsonrpc: '2.0', id, error: { code, message: text } })
    const reach = (name) => point(name, message, { ...ways, send, answer, fail })
    if (method === undefined) return reach('answered')
    if (!behaviour.discreet) note('seen', method)
    if (id === undefined) return reach(method)
    const isCall = method === 'tools/call'
    if (isCall && params.name.startsWith('odd')) note('ran', params.name)
    if (isCall ? params.name.startsWith('odd') && reach('call') : reach(method)) return
    const served = { id, method, params, send, answer, fail, note, by: channel.argument }
    if (!behaviour.modern || !serveModern(served)) serve(served)
  }
}

/** Results of 2026-07-28 name their type; a misbehaviour that does so itself is left alone. */
function complete(result) {
  const isObject = typeof result === 'object' && result !== null && !Array.isArray(result)
  return isObject ? { resultType: 'complete', ...result } : result
}

/** What is different in 2026-07-28; false for the rest. */
function serveModern({ id, method, send, answer, fail }) {
  switch (method) {
    case 'server/discover':
      answer(DISCOVERY)
      return true
    case 'subscriptions/listen':
      send(acknowledged(id))
      return true
    case 'initialize':
      fail(-32601, 'Method not found')
      return true
    default:
      return false
  }
}

function serve({ method, params, answer, fail, note, by }) {
  switch (method) {
    case 'initialize':
      return answer({
        protocolVersion: params.protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: 'peer', version: '1' },
      })
    case 'tools/list':
      return answer({ tools: TOOLS })
    case 'ping':
      return answer({})
    case 'tools/call':
      return call(params, answer, note, by)
    default:
      return fail(-32601, 'Method not found')
  }
}

/** Says which server answers: two servers must never be mistaken for each other. */
function call({ name, arguments: args = {} }, answer, note, by) {
  if (name === 'write') note('ran', `write ${args.nonce}`)
  const text = JSON.stringify({ by, ...args })
  setTimeout(() => answer({ content: [{ type: 'text', text }] }), args.ms ?? 0)
}
