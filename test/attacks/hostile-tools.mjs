// A server whose tools/list holds one good tool among definitions that are meant to break a client. It writes its JSON by
// hand: JSON.stringify could not make some of it.
import { createInterface } from 'node:readline'

const LEVELS = 50_000
const deep = `${'{"properties":{"a":'.repeat(LEVELS)}{}${'}}'.repeat(LEVELS)}`
const cycle = {
  type: 'object',
  properties: { a: { $ref: '#/$defs/a' }, b: { $ref: '#' } },
  $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } },
}
const tools = [
  '{"name":"good","description":"Fine.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}}}}',
  `{"name":"deep","description":"d","inputSchema":${deep}}`,
  `{"name":"deep_data","description":"d","inputSchema":{"type":"object","default":${'['.repeat(LEVELS)}${']'.repeat(LEVELS)}}}`,
  `{"name":"deep_default","description":"d","inputSchema":{"type":"object","properties":{"default":${deep}}}}`,
  `{"name":"megabyte","description":"d","inputSchema":{"type":"object","description":"${'x'.repeat(1 << 20)}"}}`,
  `{"name":"wide","description":"d","inputSchema":{"type":"object","properties":{${Array.from({ length: 60_000 }, (_, at) => `"p${at}":{"type":"string"}`).join(',')}}}}`,
  `{"name":"${'n'.repeat(5000)}","description":"d","inputSchema":{"type":"object"}}`,
  `{"name":"wordy","description":"${'word '.repeat(300_000)}","inputSchema":{"type":"object"}}`,
  `{"name":"deep_output","description":"d","inputSchema":{"type":"object"},"outputSchema":${deep}}`,
  `{"name":"deep_meta","description":"d","inputSchema":{"type":"object"},"_meta":{"x":${deep}},"annotations":${deep}}`,
  '{"name":"proto","description":"d","inputSchema":{"type":"object","__proto__":{"polluted":true},"properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}}',
  `{"name":"cycle","description":"d","inputSchema":${JSON.stringify(cycle)}}`,
  '{"name":"bare"}',
]

const reply = (id, result) =>
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}\n`)

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (id === undefined) return
  if (method === 'initialize')
    reply(
      id,
      '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"hostile","version":"0"}}',
    )
  else if (method === 'tools/list') reply(id, `{"tools":[${tools.join(',')}]}`)
  else if (method === 'tools/call')
    reply(id, JSON.stringify({ content: [{ type: 'text', text: `said ${params.arguments?.text}` }] }))
  else if (method === 'ping') reply(id, '{}')
  else
    process.stdout.write(
      `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32601,"message":"no such method"}}\n`,
    )
})
