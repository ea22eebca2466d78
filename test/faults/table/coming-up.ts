// coming-up.ts: faults before a server is up.
import { type Fault, KINDS } from '../fault.ts'

const failed = (code: 'INIT_ERROR' | 'TIMEOUT' | 'PERMISSION_DENIED', stage?: 'connect' | 'tools') =>
  ({ state: 'failed', code, ...(stage && { stage }) }) as const

export const COMING_UP: readonly Fault[] = [
  {
    name: 'exits at once',
    how: 'the process ends, or every connection is closed, before a word',
    on: KINDS,
    behaviour: 'exit-at-once',
    quick: true,
    // A call waits between its attempts to reach the server.
    quicker: 5,
    timeoutMs: 5000,
    up: failed('INIT_ERROR'),
    call: 'INIT_ERROR',
  },
  {
    name: 'no such command or host',
    how: 'the connection is reset before a byte',
    on: ['http', 'sse', 'ws'],
    lineFirst: { mode: 'refuse' },
    up: failed('INIT_ERROR'),
  },
  {
    name: 'never answers initialize',
    how: 'reads everything, says nothing',
    on: KINDS,
    behaviour: 'silent-initialize',
    up: failed('TIMEOUT', 'connect'),
    call: 'TIMEOUT',
  },
  {
    name: 'deaf',
    how: 'never reads its input, never speaks, ignores every polite signal',
    on: ['stdio'],
    behaviour: 'deaf',
    up: failed('TIMEOUT', 'connect'),
  },
  {
    name: 'error on initialize',
    how: 'answers initialize with -32000',
    on: KINDS,
    behaviour: 'initialize-error',
    quick: true,
    quicker: 5,
    timeoutMs: 5000,
    up: failed('INIT_ERROR', 'connect'),
    call: 'INIT_ERROR',
    write: 'INIT_ERROR',
  },
  {
    name: 'dies on initialize',
    how: 'ends instead of answering initialize',
    on: KINDS,
    behaviour: 'dies-on-initialize',
    up: failed('INIT_ERROR', 'connect'),
  },
  {
    name: 'initialize answered with a number',
    how: 'the result is 7',
    on: KINDS,
    behaviour: 'initialize-number',
    up: failed('INIT_ERROR', 'connect'),
  },
  {
    name: 'initialize answered with nothing in it',
    how: 'the result is {}',
    on: KINDS,
    behaviour: 'initialize-empty',
    up: failed('INIT_ERROR', 'connect'),
  },
  {
    name: 'another protocol',
    how: 'claims protocol version 1999-01-01',
    on: KINDS,
    behaviour: 'initialize-other-version',
    up: failed('INIT_ERROR', 'connect'),
  },
  {
    name: 'odd facts about itself',
    how: 'capabilities, server info and instructions of the wrong types',
    on: KINDS,
    behaviour: 'initialize-no-capabilities',
    after: 'TOOL_NOT_FOUND',
  },
  {
    name: 'silent on the era probe',
    how: 'never answers server/discover, but initialize',
    on: ['stdio', 'ws'],
    behaviour: 'silent-discover',
    call: 'ok',
  },
  {
    name: 'nonsense on the era probe',
    how: 'answers server/discover with the wrong types',
    on: ['stdio', 'ws'],
    behaviour: 'discover-nonsense',
    call: 'ok',
  },
  {
    name: '500 on the era probe',
    how: 'answers server/discover with HTTP 500',
    on: ['http'],
    behaviour: 'discover-500',
    quick: true,
    call: 'ok',
  },
  {
    name: 'tools/list fails',
    how: 'answers tools/list with -32603',
    on: KINDS,
    behaviour: 'tools-error',
    up: failed('INIT_ERROR', 'tools'),
    call: 'INIT_ERROR',
  },
  {
    name: 'tools/list is never answered',
    how: 'is up, then silent',
    on: KINDS,
    behaviour: 'tools-silent',
    up: failed('TIMEOUT', 'tools'),
  },
  {
    name: 'tools/list without a list',
    how: 'tools is a text',
    on: KINDS,
    behaviour: 'tools-no-list',
    up: failed('INIT_ERROR', 'tools'),
  },
  {
    name: 'repeated cursor',
    how: 'every page names the same next page',
    on: KINDS,
    behaviour: 'cursor-repeats',
    call: 'ok',
  },
  {
    name: 'endless cursors',
    how: 'every page names another one',
    on: ['stdio', 'http', 'ws'],
    behaviour: 'cursor-endless',
    connectMs: 15_000,
    call: 'ok',
    also: [
      'stops at 1000 pages',
      ({ noted, check, server }) => {
        const pages = noted('seen').filter((method) => method === 'tools/list').length
        check(pages <= 1000, `${pages} pages were read`)
        check(server().tools > 900, `only ${server().tools} tools are there`)
      },
    ],
  },
  {
    name: 'cursor of the wrong type',
    how: 'nextCursor is an object',
    on: ['stdio'],
    behaviour: 'cursor-odd',
    call: 'ok',
  },
  {
    name: 'duplicate tool names',
    how: 'lists every tool twice',
    on: ['stdio', 'http'],
    behaviour: 'tools-duplicate',
    call: 'ok',
    also: [
      'each name is offered once',
      ({ board, check }) => {
        const names = board.tools().map(({ name }) => name)
        check(new Set(names).size === names.length, 'two tools have one name')
      },
    ],
  },
  {
    name: 'broken tools beside good ones',
    how: 'numbers, missing and looping schemas, bad patterns, control characters, a name of 100 000 characters',
    on: ['stdio', 'http'],
    behaviour: 'tools-broken',
    quick: true,
    call: 'ok',
    also: [
      'names stay within 64 plain characters',
      ({ board, check }) => {
        const bad = board.tools().find(({ name }) => !/^[A-Za-z0-9_-]{1,64}$/.test(name))
        check(bad === undefined, `a tool is named ${JSON.stringify(bad?.name.slice(0, 80))}`)
      },
    ],
  },
  {
    name: 'a schema 3000 deep',
    how: 'one tool whose schema nests fifteen hundred objects',
    on: ['stdio', 'ws'],
    behaviour: 'tools-deep-schema',
    call: 'ok',
    also: [
      'the tool list can be compiled',
      ({ board, check }) => check(board.tools().length > 5, 'the other tools are missing'),
    ],
  },
  {
    name: '60 000 tools',
    how: 'more than the limit of one list',
    on: ['stdio', 'http'],
    behaviour: 'tools-many',
    connectMs: 15_000,
    call: 'ok',
    peakMiB: 500,
    also: [
      'cut at 50 000',
      ({ server, check }) => check(server().tools === 50_000, `${server().tools} tools are kept`),
    ],
  },
  {
    name: 'dies as soon as it is up',
    how: 'ends once, 100 ms after its tools were listed',
    on: KINDS,
    behaviour: 'dies-when-up',
    also: ['is brought back', () => new Promise((done) => setTimeout(done, 300))],
  },
]
