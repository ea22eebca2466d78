// behaviours-modern.mjs: what only a server of 2026-07-28 can do wrong: discovery, subscriptions, questions inside answers.
import { acknowledged, DISCOVERY, toolsChanged } from './modern.mjs'
import { TOOLS } from './tools.mjs'
import { MIB, onCall, text } from './transports.mjs'

const on = (method, work) => ({
  [method]: (ways) => {
    work(ways)
    return true
  },
})
const discovers = (value) => on('server/discover', ({ answer }) => answer(value))
const listens = (work) => on('subscriptions/listen', work)
const asks = (inputRequests, more = {}) =>
  onCall(({ answer }) => answer({ resultType: 'input_required', inputRequests, ...more }))
const question = { method: 'elicitation/create', params: { message: 'Who?', requestedSchema: {} } }

const withHeader = (header) => ({
  name: `headed-${String(header).slice(0, 8).replace(/\W/g, '-')}`,
  inputSchema: { type: 'object', properties: { a: { type: 'string', 'x-mcp-header': header } } },
})

export const MODERN = {
  'discovers-another-version': discovers({ ...DISCOVERY, supportedVersions: ['2099-01-01'] }),
  'discovers-nothing': discovers({}),
  'discovers-odd-capabilities': discovers({
    ...DISCOVERY,
    capabilities: {
      tools: { listChanged: true },
      prompts: 'many',
      resources: null,
      logging: 7,
      extensions: [],
    },
    instructions: { not: 'a text' },
    ttlMs: -1,
    cacheScope: 7,
    _meta: { 'io.modelcontextprotocol/serverInfo': 7 },
  }),
  'discovers-for-ever-fresh': discovers({ ...DISCOVERY, ttlMs: 1e308 }),
  'refuses-the-version-it-names': on('server/discover', ({ send, message }) =>
    send({
      jsonrpc: '2.0',
      id: message.id,
      error: { code: -32022, message: 'Unsupported', data: { supported: ['2026-07-28'] } },
    }),
  ),
  'list-asks-back': on('tools/list', ({ answer }) =>
    answer({ resultType: 'input_required', inputRequests: { who: question } }),
  ),
  'list-cached-oddly': on('tools/list', ({ answer }) =>
    answer({ tools: TOOLS, ttlMs: 'long', cacheScope: { of: 'all' } }),
  ),
  'odd-header-marks': on('tools/list', ({ answer }) =>
    answer({ tools: [...TOOLS, ...[7, '', 'a b', 'x'.repeat(10_000), 'a\r\nEvil: 1'].map(withHeader)] }),
  ),

  'listen-silent': listens(() => {}),
  'listen-refused': listens(({ fail }) => fail(-32601, 'Method not found')),
  'listen-ends-at-once': listens(({ answer }) => answer({})),
  'listen-acknowledged-then-ends': listens(({ send, answer, message }) => {
    send(acknowledged(message.id))
    answer({})
  }),
  'listen-acknowledges-others': listens(({ send }) => {
    for (const id of ['nobody', 7, null, {}, '__proto__']) send(acknowledged(id))
  }),
  'listen-cut-once': {
    'subscriptions/listen': ({ send, die, once, message }) => {
      if (!once('cut')) return false
      send(acknowledged(message.id))
      setTimeout(die, 50)
      return true
    },
  },
  'listen-floods': listens(({ send, message }) => {
    send(acknowledged(message.id))
    for (let i = 0; i < 5000; i++) send(toolsChanged(message.id))
  }),
  'listen-junk': listens(({ send, message }) => {
    send(acknowledged(message.id))
    for (const method of ['notifications/tools/list_changed', 'notifications/resources/updated', '__proto__'])
      for (const params of [null, 7, {}, { uri: 7 }, { _meta: 'x' }, { _meta: { x: 1 } }])
        send({ jsonrpc: '2.0', method, params })
  }),

  'asks-for-ever': asks({ who: { method: 'roots/list' } }, { requestState: 'again' }),
  'asks-for-nothing-for-ever': asks({}, { requestState: 'again' }),
  'asks-without-asking': onCall(({ answer }) => answer({ resultType: 'input_required' })),
  'asks-what-was-not-offered': asks({ who: question }),
  'asks-nonsense': asks({ a: 7, b: null, c: {}, d: { method: 7 }, e: { method: '__proto__' } }),
  'asks-a-thousand': asks(Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`q${at}`, question]))),
  'asks-in-a-list': asks([question, question]),
  'keeps-state-of-8-MiB': onCall(({ answer, params }) =>
    params.requestState === undefined
      ? answer({ resultType: 'input_required', requestState: 's'.repeat(8 * MIB) })
      : answer(text(`${params.requestState.length}`)),
  ),
  'state-of-odd-type': onCall(({ answer, params }) =>
    Object.hasOwn(params, 'requestState')
      ? answer(text('came back'))
      : answer({ resultType: 'input_required', requestState: { not: 'a text' } }),
  ),
  'result-type-unknown': onCall(({ answer }) => answer({ ...text('x'), resultType: 'later' })),
  'result-type-number': onCall(({ answer }) => answer({ ...text('x'), resultType: 7 })),
  'result-type-missing': onCall(({ send, message }) =>
    send({ jsonrpc: '2.0', id: message.id, result: text('as before') }),
  ),
  'headers-never-fit': onCall(({ fail }) => fail(-32020, 'Header mismatch')),
  'forgets-the-version': onCall(({ fail }) => fail(-32022, 'Unsupported protocol version')),
  'wants-a-capability': onCall(({ fail }) => fail(-32021, 'Missing capability')),
}
