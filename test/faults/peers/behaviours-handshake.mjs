// behaviours-handshake.mjs: what a server does wrong before it is up: its start, its handshake, its list of tools.
import { TOOLS } from './tools.mjs'

const silence = () => true
const pages = (nextCursor) => ({
  'tools/list': ({ answer, params }) => {
    const page = Number(params.cursor ?? 0)
    answer({
      tools: page === 0 ? TOOLS : [{ ...TOOLS[0], name: `more-${page}` }],
      nextCursor: nextCursor(page),
    })
    return true
  },
})
const tools = (make) => ({
  'tools/list': ({ answer }) => {
    answer(make())
    return true
  },
})
const initializes = (result) => ({
  initialize: ({ answer, params }) => {
    answer(result(params))
    return true
  },
})

export const HANDSHAKE = {
  'exit-at-once': {
    start: ({ stderr }) => {
      stderr('no licence found\n')
      process.exit(3)
    },
    request: ({ response, socket }) => {
      ;(response?.socket ?? socket).destroy()
      return true
    },
  },
  'silent-initialize': { initialize: silence, 'server/discover': silence },
  'initialize-error': {
    initialize: ({ fail }) => {
      fail(-32000, 'not today')
      return true
    },
  },
  'dies-on-initialize': {
    initialize: ({ die }) => {
      die()
      return true
    },
  },
  'initialize-number': initializes(() => 7),
  'initialize-empty': initializes(() => ({})),
  'initialize-other-version': initializes(() => ({ protocolVersion: '1999-01-01', capabilities: {} })),
  'initialize-no-capabilities': initializes(({ protocolVersion }) => ({
    protocolVersion,
    capabilities: 'all of them',
    serverInfo: 7,
    instructions: { not: 'text' },
  })),
  'silent-discover': { 'server/discover': silence },
  'discover-nonsense': {
    'server/discover': ({ answer }) => {
      answer({ supportedVersions: 'all', capabilities: null })
      return true
    },
  },
  'tools-error': {
    'tools/list': ({ fail }) => {
      fail(-32603, 'database is down')
      return true
    },
  },
  'tools-silent': { 'tools/list': silence },
  'tools-no-list': tools(() => ({ tools: 'none' })),
  'cursor-repeats': pages(() => '1'),
  'cursor-endless': pages((page) => String(page + 1)),
  'cursor-odd': pages(() => ({ next: 'page' })),
  'tools-duplicate': tools(() => ({ tools: [...TOOLS, ...TOOLS] })),
  'tools-broken': tools(() => ({
    tools: [
      7,
      null,
      { name: 'no-schema' },
      { inputSchema: {} },
      { name: 'array-schema', inputSchema: [] },
      { name: 'type-nonsense', inputSchema: { type: 'nonsense', properties: 7 } },
      { name: 'dangling', inputSchema: { $ref: '#/nowhere' } },
      { name: 'loop', inputSchema: { $ref: '#' } },
      { name: 'bad-pattern', inputSchema: { type: 'object', properties: { a: { pattern: '((((' } } } },
      { name: 'bad-output', inputSchema: { type: 'object' }, outputSchema: { type: 12 } },
      { name: '__proto__', inputSchema: { type: 'object' } },
      { name: 'x'.repeat(100_000), inputSchema: { type: 'object' } },
      {
        name: 'bell\u0007\u202e\u001b[2J',
        description: '\u001b]0;title\u0007',
        inputSchema: { type: 'object' },
      },
      ...TOOLS,
    ],
  })),
  'tools-deep-schema': tools(() => {
    let schema = { type: 'string' }
    for (let i = 0; i < 1500; i++) schema = { type: 'object', properties: { a: schema } }
    return { tools: [{ name: 'deep', inputSchema: schema }, ...TOOLS] }
  }),
  'tools-many': tools(() => ({
    tools: [...TOOLS, ...Array.from({ length: 60_000 }, (_, i) => ({ ...TOOLS[0], name: `t${i}` }))],
  })),
}
