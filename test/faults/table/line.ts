// line.ts: faults of the network, made by the TCP proxy in front of a good server.
import type { Fault, Kind } from '../fault.ts'

const REMOTE: readonly Kind[] = ['http', 'sse', 'ws']
/** For a writing call whose response is cut off. Over SSE it may be the response to the post that is hit, not that of the call. */
const LOST_ANSWER: Fault['write'] = {
  http: 'OUTCOME_UNKNOWN',
  ws: 'OUTCOME_UNKNOWN',
  sse: ['ok', 'OUTCOME_UNKNOWN'],
}

export const LINE: readonly Fault[] = [
  {
    name: 'a slow line',
    how: 'every packet takes 150 ms',
    on: REMOTE,
    lineFirst: { mode: 'delay', ms: 150 },
    call: 'ok',
  },
  {
    name: 'a trickle',
    how: 'seven bytes a millisecond',
    on: REMOTE,
    lineFirst: { mode: 'trickle' },
    call: 'ok',
  },
  {
    name: 'stalled from the start',
    how: 'connected, then nothing passes',
    on: REMOTE,
    lineFirst: { mode: 'half-open' },
    up: { state: 'failed', code: 'TIMEOUT' },
  },
  {
    name: '502 from the start',
    how: 'a proxy answers for a server that is away',
    on: REMOTE,
    lineFirst: { mode: 'bad-gateway' },
    up: { state: 'failed', code: 'INIT_ERROR' },
  },
  {
    name: 'garbage from the start',
    how: 'every byte is another',
    on: REMOTE,
    lineFirst: { mode: 'garbage' },
    up: { state: 'failed', code: 'INIT_ERROR' },
  },
  {
    name: 'stalled mid-session',
    how: 'answers stop coming; the line is good again later',
    on: REMOTE,
    line: { mode: 'stall' },
    timeoutMs: 600,
    call: 'TIMEOUT',
    write: 'TIMEOUT',
  },
  {
    name: 'half-open',
    how: 'what we send is swallowed, nothing comes, the connection stays open',
    on: REMOTE,
    line: { mode: 'half-open' },
    timeoutMs: 600,
    call: 'TIMEOUT',
    write: 'TIMEOUT',
  },
  {
    name: 'cut mid-answer, once',
    how: 'the connection ends after ten bytes of an answer',
    on: REMOTE,
    line: { mode: 'cut', bytes: 10, times: 1 },
    quick: true,
    call: 'ok',
  },
  {
    name: 'cut mid-answer, a call that writes',
    how: 'the same, and the call may not be repeated',
    on: REMOTE,
    line: { mode: 'cut', bytes: 10, times: 1 },
    write: LOST_ANSWER,
  },
  {
    name: 'reset mid-answer, once',
    how: 'RST after ten bytes of an answer',
    on: REMOTE,
    line: { mode: 'reset', bytes: 10, times: 1 },
    call: 'ok',
  },
  {
    name: 'reset mid-answer, a call that writes',
    how: 'the same, and the call may not be repeated',
    on: REMOTE,
    line: { mode: 'reset', bytes: 10, times: 1 },
    write: LOST_ANSWER,
  },
  {
    name: 'reset on the request',
    how: 'RST as soon as we write, once',
    on: REMOTE,
    line: { mode: 'reset-on-request', times: 1 },
    call: 'ok',
  },
  {
    name: 'garbage mid-session',
    how: 'one answer is garbled',
    on: REMOTE,
    line: { mode: 'garbage', times: 1 },
    call: { http: 'ok', sse: ['ok', 'TIMEOUT', 'IO_ERROR'], ws: 'ok' },
  },
  {
    name: '502 on a call',
    how: 'the proxy answers for the server, once',
    on: ['http'],
    line: { mode: 'bad-gateway', times: 1 },
    call: ['IO_ERROR', 'ok'],
  },
  {
    name: 'packets twice',
    how: 'the bytes of an answer come twice',
    on: REMOTE,
    line: { mode: 'twice', times: 1 },
    call: { http: 'ok', sse: 'ok', ws: 'ok' },
  },
  {
    name: 'the box restarts',
    how: 'every open connection is reset between two calls',
    on: REMOTE,
    quick: true,
    also: ['the next call is answered', async ({ peer }) => peer?.drop()],
  },
  {
    name: 'away for good',
    how: 'resets everything, and every new connection',
    on: REMOTE,
    line: { mode: 'refuse' },
    reconnects: 2,
    also: [
      'calls end with a code',
      async ({ peer, call, check }) => {
        await peer?.drop()
        for (let i = 0; i < 4; i++) {
          const outcome = await call('echo')
          check(outcome === 'IO_ERROR' || outcome === 'INIT_ERROR', `a call ended with ${outcome}`)
        }
      },
    ],
    after: ['ok', 'INIT_ERROR'],
  },
]
