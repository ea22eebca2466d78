// answers.ts: faults in how a call is answered.
import { type Fault, KINDS } from '../fault.ts'

const odd = (name: string, how: string, behaviour: string, more: Partial<Fault> = {}): Fault => ({
  name,
  how,
  behaviour,
  on: KINDS,
  ...more,
})
/** Answered, and wrongly: the tool failed, the connection did not. */
const wrong = (name: string, how: string, behaviour: string): Fault =>
  odd(name, how, behaviour, { call: 'TOOL_ERROR' })

/** Sent before the loss was known: answered by the next process, or lost with this one. */
const UNSURE = ['ok', 'OUTCOME_UNKNOWN'] as const

export const ANSWERS: readonly Fault[] = [
  odd('never answers the call', 'keeps the call open for ever', 'call-silent', {
    call: 'TIMEOUT',
    write: 'TIMEOUT',
    also: [
      'the server is told',
      async ({ noted, server, check }) => {
        // Over HTTP the end of a request's stream says it in the modern era.
        const word = server().protocolVersion === '2026-07-28' && noted('seen').includes('hung up')
        check(word || noted('seen').includes('notifications/cancelled'), 'it was not told')
      },
    ],
  }),
  odd('answers after the time is up', 'the answer comes half a second late', 'late-answer', {
    call: 'TIMEOUT',
  }),
  odd(
    'answers a call that was cancelled',
    'the caller gives up, the server answers all the same',
    'late-answer',
    {
      also: [
        'the caller gets `CANCELLED` at once',
        async ({ call, check }) => {
          const stop = new AbortController()
          setTimeout(() => stop.abort(), 100)
          const outcome = await call('odd', {}, stop.signal)
          check(outcome === 'CANCELLED', `the call ended with ${outcome}`)
          await new Promise((done) => setTimeout(done, 1600))
        },
      ],
    },
  ),
  odd('dies mid-call, once', 'the process or connection ends before the answer', 'dies-mid-call', {
    quick: true,
    call: 'ok',
  }),
  odd('dies mid-call, always', 'ends instead of answering, every time', 'dies-every-call', {
    quick: true,
    reconnects: 5,
    call: 'IO_ERROR',
    write: 'OUTCOME_UNKNOWN',
  }),
  odd('answers, then dies', 'ends 20 ms after every answer', 'answers-then-dies', {
    reconnects: 5,
    call: 'ok',
    // Over SSE the post may hit a session that is already gone: a response (404), so that nothing is unknown.
    write: { stdio: UNSURE, http: UNSURE, ws: UNSURE, sse: [...UNSURE, 'IO_ERROR'] },
  }),
  odd('answers twice', 'the same id twice', 'answers-twice', {
    call: 'ok',
    also: [
      'the first answer counts',
      async ({ text, check }) => check((await text('odd')) === 'first', 'the second answer was taken'),
    ],
  }),
  odd(
    'answers ids that were not asked',
    'ids of every JSON type before the right one',
    'answers-unknown-ids',
    {
      call: 'ok',
      also: [
        'the right one counts',
        async ({ text, check }) => check((await text('odd')) === 'yours', 'it was crossed'),
      ],
    },
  ),
  odd('gives the id back as a text', '"7" for 7', 'answers-as-string-id', { call: 'ok' }),
  odd('an error without an id', 'id null', 'answers-error-without-id', {
    call: { stdio: 'TIMEOUT', ws: 'TIMEOUT', sse: 'TIMEOUT', http: ['TIMEOUT', 'IO_ERROR'] },
  }),
  wrong('result is a number', 'result: 7', 'result-number'),
  odd('result is null', 'result: null, as good as an empty one', 'result-null', { call: 'ok' }),
  wrong('result is an array', 'result: [1, 2]', 'result-array'),
  wrong('neither result nor error', 'only an id', 'result-missing'),
  odd('empty result', 'result: {}', 'result-empty', { call: 'ok' }),
  odd('content is a text', 'content: "plain text"', 'content-string', { call: ['ok', 'TOOL_ERROR'] }),
  odd('content of odd blocks', 'numbers, nulls, images that are none, unknown types', 'content-odd', {
    call: ['ok', 'tool-error'],
    also: [
      'the good block is kept',
      async ({ text, check }) => check((await text('odd')).includes('still here'), 'the good block is lost'),
    ],
  }),
  wrong('error is a text', 'error: "it broke"', 'error-string'),
  odd('error of the wrong types', 'code and message are no number and no text', 'error-odd', {
    call: 'TOOL_ERROR',
  }),
  wrong('an error message of 8 MiB', 'as said', 'error-huge'),
  odd('both a result and an error', 'as said', 'both-result-and-error', { call: ['ok', 'TOOL_ERROR'] }),
  odd('keys that pollute prototypes', '__proto__ and constructor in the result', 'proto-keys', {
    quick: true,
    call: 'ok',
    also: [
      'no prototype changed',
      ({ check }) => check(!('polluted' in {}), 'Object.prototype was polluted'),
    ],
  }),
  odd('a result 100 000 deep', 'arrays in arrays', 'deep-json', { call: ['ok', 'TOOL_ERROR'], peakMiB: 300 }),
  odd('a result of 20 MiB', 'one text', 'big-result', { call: 'ok', timeoutMs: 8000, peakMiB: 400 }),
  odd('a result over the limit', '80 MiB where 64 are allowed', 'oversize-result', {
    timeoutMs: 20_000,
    call: 'ANSWER_TOO_LARGE',
    peakMiB: 500,
    also: [
      'the connection stays',
      async ({ noted, check }) => {
        const handshakes = noted('seen').filter((method) => method === 'initialize').length
        check(handshakes <= 1, `it was greeted ${handshakes} times`)
      },
    ],
  }),
  odd('progress for ever', 'progress every 50 ms, never an answer', 'progress-for-ever', {
    also: [
      'the cap on the whole ends it',
      async ({ board, check }) => {
        const options = { timeoutMs: 300, totalMs: 1000 }
        const error = await board.link
          .request('odd', 'tools/call', { name: 'odd' }, options)
          .catch((fault) => fault)
        check(error.code === 'TIMEOUT', `it ended with ${error.code}`)
      },
    ],
  }),
  odd('progress of no request', 'progress with foreign tokens, never an answer', 'progress-of-others', {
    call: 'TIMEOUT',
  }),
  odd('progress of the wrong types', 'texts and nulls for numbers', 'progress-odd', { call: 'ok' }),
  odd('pings us for ever', 'asks for a ping every 50 ms, never answers', 'pings-for-ever', {
    quick: true,
    call: 'TIMEOUT',
  }),
  odd('a request named log', 'asks us something that is a notification elsewhere', 'asks-log', {
    call: 'ok',
  }),
  odd('asks for roots', 'roots/list though we offer none', 'asks-roots', { call: 'ok' }),
  odd('asks what is not served', 'sampling, elicitation, __proto__', 'asks-what-is-not-served', {
    call: 'ok',
  }),
  odd('asks the same id a hundred times', 'requests with one id', 'asks-same-id', { call: 'ok' }),
  odd('asks 20 000 times', 'roots/list in a burst', 'asks-flood', {
    call: 'ok',
    timeoutMs: 10_000,
    on: ['stdio', 'ws'],
  }),
]
