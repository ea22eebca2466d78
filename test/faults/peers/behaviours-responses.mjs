// behaviours-responses.mjs: what a server does wrong when a tool is called: no response, half of one, two, another's, nonsense.
import { MIB, onCall, text } from './transports.mjs'

/** Acts the first time only; the same request is answered well the next time. */
const firstTime = (work) => ({
  call: (ways) => {
    if (!ways.once('call')) return false
    work(ways)
    return true
  },
})
const result = (value) => onCall(({ answer }) => answer(value))

export const RESPONSES = {
  'call-silent': onCall(() => {}),
  'dies-mid-call': firstTime(({ die }) => die()),
  'dies-every-call': onCall(({ die }) => die()),
  'answers-then-dies': onCall(({ answer, die }) => {
    answer(text('last words'))
    setTimeout(die, 20)
  }),
  'answers-twice': onCall(({ answer }) => {
    answer(text('first'))
    answer(text('second'))
  }),
  'answers-unknown-ids': onCall(({ send, answer }) => {
    for (const id of ['nobody', -1, 0, 1e308, null, {}, [1], true, 10 ** 9])
      send({ jsonrpc: '2.0', id, result: text('not yours') })
    answer(text('yours'))
  }),
  'answers-as-string-id': onCall(({ send, message }) =>
    send({ jsonrpc: '2.0', id: String(message.id), result: text('ok') }),
  ),
  'answers-error-without-id': onCall(({ send }) =>
    send({ jsonrpc: '2.0', id: null, error: { code: -32700, message: 'I did not get that' } }),
  ),
  'result-number': result(7),
  'result-null': result(null),
  'result-array': result([1, 2]),
  'result-missing': onCall(({ send, message }) => send({ jsonrpc: '2.0', id: message.id })),
  'result-empty': result({}),
  'content-string': result({ content: 'plain text' }),
  'content-odd': result({
    content: [
      7,
      null,
      'text',
      {},
      { type: 'text' },
      { type: 'text', text: 7 },
      { type: 'image', data: '%%%', mimeType: 'image/png' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'hologram', beam: true },
      { type: 'resource' },
      { type: 'resource_link', uri: 7 },
      { type: 'text', text: 'still here' },
    ],
    structuredContent: 'not an object',
    isError: 'maybe',
  }),
  'error-string': onCall(({ send, message }) => send({ jsonrpc: '2.0', id: message.id, error: 'it broke' })),
  'error-odd': onCall(({ send, message }) =>
    send({ jsonrpc: '2.0', id: message.id, error: { code: 'E_NO', message: { a: 1 }, data: { deep: [] } } }),
  ),
  'error-huge': onCall(({ fail }) => fail(-32000, 'x'.repeat(8 * MIB))),
  'both-result-and-error': onCall(({ send, message }) =>
    send({ jsonrpc: '2.0', id: message.id, result: text('ok'), error: { code: -1, message: 'and not ok' } }),
  ),
  'proto-keys': onCall(({ raw, message, response, kind }) => {
    const out = `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"content":[{"type":"text","text":"ok","__proto__":{"polluted":true}}]}}`
    raw(kind === 'stdio' ? `${out}\n` : kind === 'ws' ? out : `data: ${out}\n\n`)
    if (kind === 'http') response.end()
  }),
  'deep-json': onCall(({ raw, message, response, kind }) => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`
    const out = `{"jsonrpc":"2.0","id":${JSON.stringify(message.id)},"result":{"structuredContent":{"a":${deep}},"content":[]}}`
    raw(kind === 'stdio' ? `${out}\n` : kind === 'ws' ? out : `data: ${out}\n\n`)
    if (kind === 'http') response.end()
  }),
  'big-result': onCall(({ answer }) => answer(text('y'.repeat(20 * MIB)))),
  'oversize-result': onCall(({ answer }) => answer(text('y'.repeat(80 * MIB)))),
  'progress-for-ever': onCall(({ send, params }) => {
    let progress = 0
    const timer = setInterval(() => {
      send({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: params._meta?.progressToken, progress: ++progress },
      })
      if (progress > 400) clearInterval(timer)
    }, 50)
  }),
  'progress-of-others': onCall(({ send }) => {
    let count = 0
    const timer = setInterval(() => {
      for (const progressToken of ['nobody', 99_999, null, {}])
        send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress: 1 } })
      if (++count > 400) clearInterval(timer)
    }, 50)
  }),
  'progress-odd': onCall(({ send, answer, params }) => {
    const progressToken = params._meta?.progressToken
    for (const progress of ['half', null, -1, {}, undefined])
      send({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken, progress, total: 'all' },
      })
    answer(text('ok'))
  }),
  'pings-for-ever': onCall(({ send }) => {
    let count = 0
    const timer = setInterval(() => {
      send({ jsonrpc: '2.0', id: `p${++count}`, method: 'ping' })
      if (count > 400) clearInterval(timer)
    }, 50)
  }),
  'late-answer': onCall(({ answer }) => setTimeout(() => answer(text('too late')), 1500)),
  'asks-log': onCall(({ send, answer }) => {
    send({ jsonrpc: '2.0', id: 'q1', method: 'log', params: { level: 'info' } })
    answer(text('ok'))
  }),
  'asks-roots': onCall(({ send, answer }) => {
    send({ jsonrpc: '2.0', id: 'q1', method: 'roots/list' })
    answer(text('ok'))
  }),
  'asks-what-is-not-served': onCall(({ send, answer }) => {
    send({
      jsonrpc: '2.0',
      id: 'q1',
      method: 'sampling/createMessage',
      params: { messages: 'x', maxTokens: -1 },
    })
    send({ jsonrpc: '2.0', id: 'q2', method: 'elicitation/create', params: null })
    send({ jsonrpc: '2.0', id: 'q3', method: '__proto__', params: {} })
    send({ jsonrpc: '2.0', id: 'q4', method: 'constructor', params: {} })
    answer(text('ok'))
  }),
  'asks-flood': onCall(({ send, answer }) => {
    for (let i = 0; i < 20_000; i++) send({ jsonrpc: '2.0', id: `q${i}`, method: 'roots/list' })
    answer(text('ok'))
  }),
  'asks-same-id': onCall(({ send, answer }) => {
    for (let i = 0; i < 100; i++) send({ jsonrpc: '2.0', id: 'same', method: 'roots/list' })
    answer(text('ok'))
  }),
}
