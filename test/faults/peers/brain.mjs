// brain.mjs: a small MCP server without any library, the same on every transport. What it does wrong is one entry of
// habits.mjs, looked up at named points; everything else it does right. It knows messages, not how they travel.
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { HABITS } from './habits.mjs'
import { TOOLS } from './tools.mjs'

/** What a habit shares with those who watch it: files of one folder, so that a second life remembers the first. */
export function memory(dir) {
  return {
    /** True the first time in all lives of this server. */
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
 * @param channel `kind`, `dir`, `argument`, and the ways out: `send(message)`, `raw(text)`, `die(how)`.
 * @returns what is to be called with every message that arrives
 */
export function brain(habitName, channel) {
  const habit = HABITS[habitName]
  if (!habit) throw new Error(`There is no habit named ${habitName}.`)
  const { once, note } = memory(channel.dir)
  const point = (name, message, ways) =>
    habit[name]?.({ ...channel, ...ways, once, note, message, params: message.params ?? {} })

  return (message, ways = {}) => {
    const send = ways.send ?? channel.send
    const { id, method, params = {} } = message
    const answer = (result) => send({ jsonrpc: '2.0', id, result })
    const fail = (code, text) => send({ jsonrpc: '2.0', id, error: { code, message: text } })
    const reach = (name) => point(name, message, { ...ways, send, answer, fail })
    if (method === undefined) return reach('answered')
    note('seen', method)
    if (id === undefined) return reach(method)
    const isCall = method === 'tools/call'
    if (isCall && params.name.startsWith('odd')) note('ran', params.name)
    if (isCall ? params.name.startsWith('odd') && reach('call') : reach(method)) return
    serve({ id, method, params, answer, fail, note })
  }
}

function serve({ id, method, params, answer, fail, note }) {
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
      return call(id, params, answer, note)
    default:
      return fail(-32601, 'Method not found')
  }
}

function call(_id, { name, arguments: args = {} }, answer, note) {
  const text = (value) => answer({ content: [{ type: 'text', text: value }] })
  if (name === 'wait') return setTimeout(() => text('waited'), args.ms ?? 100)
  if (name === 'write') note('ran', `write ${args.n ?? ''}`)
  return text(JSON.stringify(args))
}
