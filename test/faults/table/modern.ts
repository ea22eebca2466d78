// modern.ts: faults of servers that speak 2026-07-28: what only they can do wrong, and what is answered wrongly in any era.
import type { Fault, Kind } from '../fault.ts'
import { ANSWERS } from './answers.ts'

const ON: readonly Kind[] = ['stdio', 'http']

const odd = (name: string, how: string, behaviour: string, more: Partial<Fault> = {}): Fault => ({
  name,
  how,
  behaviour: `modern/${behaviour}`,
  on: ON,
  ...more,
})

/** Checks how often the peer got this request, and that it did not become a storm. */
const atMost = (method: string, most: number): NonNullable<Fault['also']> => [
  `\`${method}\` at most ${most} times in a second`,
  async ({ noted, check }) => {
    await new Promise((done) => setTimeout(done, 1000))
    const asked = noted('seen').filter((line) => line === method).length
    check(asked >= 1 && asked <= most, `${method} was asked ${asked} times`)
  },
]

const DISCOVERY: readonly Fault[] = [
  odd(
    'discovers another version',
    'names only 2099-01-01, and knows no initialize',
    'discovers-another-version',
    {
      up: { state: 'failed', code: 'INIT_ERROR', stage: 'connect' },
    },
  ),
  odd('discovers nothing', 'answers {}, and knows no initialize', 'discovers-nothing', {
    up: { state: 'failed', code: 'INIT_ERROR', stage: 'connect' },
  }),
  odd(
    'discovery of the wrong types',
    'capabilities, instructions and times that are none',
    'discovers-odd-capabilities',
    {
      call: 'ok',
    },
  ),
  odd('fresh for ever', 'a time to live of 1e308 ms', 'discovers-for-ever-fresh', { call: 'ok' }),
  odd(
    'refuses the version it names',
    'every probe ends with -32022 that names 2026-07-28',
    'refuses-the-version-it-names',
    {
      quick: true,
      up: { state: 'failed', code: 'INIT_ERROR', stage: 'connect' },
    },
  ),
  odd('asks back when asked for its tools', 'tools/list wants input first', 'list-asks-back', {
    up: { state: 'failed', code: 'INIT_ERROR', stage: 'tools' },
  }),
  odd('cache words of the wrong types', 'ttlMs and cacheScope of the list', 'list-cached-oddly', {
    call: 'ok',
  }),
  odd(
    'headers that cannot be',
    'tools that mark numbers, blanks and line breaks as header names',
    'odd-header-marks',
    {
      call: 'ok',
    },
  ),
]

const LISTENING: readonly Fault[] = [
  odd('subscription never acknowledged', 'says nothing on subscriptions/listen', 'listen-silent', {
    call: 'ok',
  }),
  odd('subscription refused', 'declares list changes, knows no subscriptions/listen', 'listen-refused', {
    call: 'ok',
    also: atMost('subscriptions/listen', 1),
  }),
  odd(
    'subscription over at once',
    'answers subscriptions/listen instead of keeping it',
    'listen-ends-at-once',
    {
      call: 'ok',
      also: atMost('subscriptions/listen', 5),
    },
  ),
  odd(
    'subscription acknowledged and over',
    'acknowledges, then ends it, every time',
    'listen-acknowledged-then-ends',
    {
      quick: true,
      call: 'ok',
      also: atMost('subscriptions/listen', 5),
    },
  ),
  odd(
    'acknowledges what was not asked',
    'foreign subscription ids of every type',
    'listen-acknowledges-others',
    {
      call: 'ok',
    },
  ),
  odd(
    'subscription cut, once',
    'the process or stream ends 50 ms after the acknowledgement',
    'listen-cut-once',
    {
      also: [
        'is listened to again',
        async ({ noted, check, board }) => {
          const asked = () => noted('seen').filter((line) => line === 'subscriptions/listen').length
          for (let waited = 0; asked() < 2 && waited < 8000; waited += 50)
            await new Promise((done) => setTimeout(done, 50))
          check(asked() >= 2, 'the client did not listen again')
          await board.ready()
        },
      ],
    },
  ),
  odd(
    '5000 list changes in a burst',
    'notifications/tools/list_changed on the subscription',
    'listen-floods',
    {
      call: 'ok',
      also: atMost('tools/list', 20),
    },
  ),
  odd('junk on the subscription', 'notifications with parameters of every type', 'listen-junk', {
    call: 'ok',
  }),
]

const ASKING: readonly Fault[] = [
  odd('asks for input for ever', 'every answer wants input again', 'asks-for-ever', {
    quick: true,
    call: 'TOOL_ERROR',
  }),
  odd('asks for nothing for ever', 'every answer wants to be asked again', 'asks-for-nothing-for-ever', {
    call: 'TOOL_ERROR',
  }),
  odd('input required, none named', 'no questions and no state', 'asks-without-asking', {
    call: 'TOOL_ERROR',
  }),
  odd('asks what was not offered', 'elicitation though we declare none', 'asks-what-was-not-offered', {
    call: 'TOOL_ERROR',
  }),
  odd('questions that are none', 'numbers, nulls, __proto__', 'asks-nonsense', { call: 'TOOL_ERROR' }),
  odd('a thousand questions', 'in one answer', 'asks-a-thousand', { quick: true, call: 'TOOL_ERROR' }),
  odd('questions in a list', 'inputRequests is an array', 'asks-in-a-list', { call: 'TOOL_ERROR' }),
  odd('a state of 8 MiB', 'which it wants back', 'keeps-state-of-8-MiB', {
    timeoutMs: 8000,
    call: 'ok',
    also: [
      'it comes back whole',
      async ({ text, check }) => check((await text('odd')) === String(8 * 1024 * 1024), 'it was changed'),
    ],
  }),
  odd('a state that is no text', 'an object', 'state-of-odd-type', { call: ['ok', 'TOOL_ERROR'] }),
  odd('unknown result type', 'resultType: "later"', 'result-type-unknown', { call: 'TOOL_ERROR' }),
  odd('result type of the wrong type', 'resultType: 7', 'result-type-number', { call: 'TOOL_ERROR' }),
  odd('result type missing', 'as before 2026-07-28', 'result-type-missing', { call: 'ok' }),
  odd('headers never fit', '-32020 however often the tools are listed', 'headers-never-fit', {
    call: 'TOOL_ERROR',
    also: [
      'the tools are listed once more, not again and again',
      ({ noted, check }) => {
        const lists = noted('seen').filter((line) => line === 'tools/list').length
        check(lists <= 3, `the tools were listed ${lists} times`)
      },
    ],
  }),
  odd('forgets the version', 'a call ends with -32022', 'forgets-the-version', { call: 'TOOL_ERROR' }),
  odd('wants a capability', 'a call ends with -32021', 'wants-a-capability', { call: 'TOOL_ERROR' }),
]

/** The same servers as in the other era, with the same outcome. */
const ANSWERING: readonly Fault[] = ANSWERS.map(({ quick: _, ...fault }) => ({
  ...fault,
  name: `${fault.name} (2026-07-28)`,
  behaviour: `modern/${fault.behaviour}`,
  on: fault.on.filter((kind) => ON.includes(kind)),
}))

export const MODERN: readonly Fault[] = [...DISCOVERY, ...LISTENING, ...ASKING, ...ANSWERING]
