// web.ts: faults of HTTP servers and of the proxies before them.
import { setTimeout as pause } from 'node:timers/promises'
import type { Fault, Kind } from '../fault.ts'

const WEB_KINDS: readonly Kind[] = ['http', 'sse', 'ws']
const failed = { state: 'failed', code: 'INIT_ERROR' } as const
const http = (name: string, how: string, behaviour: string, more: Partial<Fault>): Fault => ({
  name,
  how,
  behaviour,
  on: ['http'],
  ...more,
})

const UPS: readonly Fault[] = [
  {
    name: 'a web page',
    how: 'HTML with status 200 to everything',
    on: WEB_KINDS,
    behaviour: 'html-page',
    quick: true,
    up: failed,
  },
  { name: '500 to everything', how: 'as said', on: WEB_KINDS, behaviour: 'status-500', up: failed },
  { name: '404 to everything', how: 'as said', on: WEB_KINDS, behaviour: 'status-404', up: failed },
  { name: 'an odd status', how: '299 to everything', on: WEB_KINDS, behaviour: 'status-odd', up: failed },
  {
    name: '401 at the door',
    how: '401 to everything',
    on: WEB_KINDS,
    behaviour: 'status-401',
    quick: true,
    up: { state: 'needs-auth', code: 'AUTH_REQUIRED' },
    call: 'AUTH_REQUIRED',
  },
  {
    name: '403 at the door',
    how: '403 to everything',
    on: WEB_KINDS,
    behaviour: 'status-403',
    up: { state: 'failed', code: 'PERMISSION_DENIED' },
  },
  {
    name: 'an empty 200',
    how: 'JSON by its type, without a byte',
    on: ['http', 'sse'],
    behaviour: 'empty-200',
    up: failed,
  },
  {
    name: 'headers never come',
    how: 'the request is read, nothing is answered',
    on: WEB_KINDS,
    behaviour: 'headers-never',
    up: { state: 'failed', code: 'TIMEOUT' },
  },
  { name: 'headers of 200 kB', how: 'as said', on: WEB_KINDS, behaviour: 'headers-huge', up: failed },
  {
    name: 'redirects to another origin',
    how: '307 to another host, with our headers in hand',
    on: WEB_KINDS,
    behaviour: 'redirect-elsewhere',
    quick: true,
    up: failed,
  },
  {
    name: 'redirects in a circle',
    how: '307 to itself',
    on: WEB_KINDS,
    behaviour: 'redirect-loop',
    up: failed,
  },
  {
    name: 'the post address is elsewhere',
    how: 'an endpoint event names another origin',
    on: ['sse'],
    behaviour: 'endpoint-elsewhere',
    quick: true,
    up: failed,
  },
  {
    name: 'the post address is nonsense',
    how: 'an endpoint event that is no URL',
    on: ['sse'],
    behaviour: 'endpoint-nonsense',
    up: failed,
  },
  {
    name: 'the post address never comes',
    how: 'an open stream without an endpoint event',
    on: ['sse'],
    behaviour: 'endpoint-missing',
    up: { state: 'failed', code: 'TIMEOUT' },
  },
]

const CALLS: readonly Fault[] = [
  http('500 on a call', 'as said', 'call-500', { call: 'IO_ERROR', after: 'ok' }),
  http('401 mid-session', 'a call is refused with 401', 'call-401', {
    quick: true,
    call: 'AUTH_REQUIRED',
    after: 'AUTH_REQUIRED',
  }),
  http('403 on a call', 'as said', 'call-403', { call: 'PERMISSION_DENIED' }),
  http('429, then well', 'Retry-After: 1', 'call-429', { call: 'ok', timeoutMs: 4000 }),
  http('429 for a day', 'Retry-After: 100000', 'call-429-for-ever', { call: 'IO_ERROR' }),
  http('a web page for an answer', 'HTML with status 200 to a call', 'call-html', {
    call: ['IO_ERROR', 'PARSE_ERROR'],
  }),
  http('202 for an answer', 'accepted, and nothing ever comes', 'call-202', { call: 'TIMEOUT' }),
  http('204 for an answer', 'no content', 'call-204', { call: ['IO_ERROR', 'TIMEOUT', 'PARSE_ERROR'] }),
  http('half a JSON document', 'a complete body that does not parse', 'call-not-json', {
    call: ['IO_ERROR', 'PARSE_ERROR'],
  }),
  http('session expired', '404 once', 'session-expires', { quick: true, call: 'ok' }),
  http('session expired, by JSON-RPC', '-32001 once', 'session-expires-32001', { call: 'ok' }),
  http('no session lasts', '404 on every call', 'session-never-lasts', { call: 'IO_ERROR' }),
  http('chunked answer cut', 'the socket closes inside a chunk', 'chunked-cut', {
    call: 'IO_ERROR',
    write: 'OUTCOME_UNKNOWN',
  }),
  http('content-length lies', 'announces three times what it sends', 'length-lies', {
    call: 'IO_ERROR',
    write: 'OUTCOME_UNKNOWN',
  }),
  http("another's answer", 'the JSON answer has another id', 'other-id', {
    call: 'IO_ERROR',
    write: 'OUTCOME_UNKNOWN',
  }),
  http('gzip bomb', '100 kB that unpack to 100 MiB', 'gzip-bomb', {
    timeoutMs: 8000,
    call: ['IO_ERROR', 'PARSE_ERROR'],
    peakMiB: 300,
  }),
  http('an event three times', 'the same event again and again', 'sse-duplicated', { call: 'ok' }),
  http('an event cut', 'the stream ends inside an event', 'sse-cut-event', {
    call: 'IO_ERROR',
    write: 'OUTCOME_UNKNOWN',
  }),
  http('a stream that ends early', 'ends without the answer', 'sse-ends-early', {
    quick: true,
    call: 'IO_ERROR',
    write: 'OUTCOME_UNKNOWN',
  }),
  http('a stream of comments', 'keep-alives for ever, no answer', 'sse-comments-only', { call: 'TIMEOUT' }),
  http('a stream that resumes', 'cut after an event id, the rest on asking', 'sse-resumes', {
    call: 'ok',
    also: [
      'by Last-Event-ID, without a second call',
      ({ noted, check }) => {
        check(noted('seen').includes('resumed'), 'it was not resumed')
      },
    ],
  }),
  http('a stream that never resumes', 'event ids, and nothing on asking', 'sse-never-resumes', {
    timeoutMs: 5000,
    call: 'IO_ERROR',
    write: 'OUTCOME_UNKNOWN',
  }),
  http('the goodbye hangs', 'DELETE is never answered', 'delete-hangs', { quick: true, call: 'ok' }),
  http('the push stream ends at once', 'every GET stream is closed', 'push-ends-at-once', {
    call: 'ok',
    also: [
      'it is not asked for in a hurry',
      async ({ noted, check }) => {
        await pause(1500)
        const asked = noted('seen').filter((what) => what === 'push').length
        check(asked <= 5, `it was asked for ${asked} times`)
      },
    ],
  }),
  http('junk on the push stream', 'broken events and a retry of three thousand years', 'push-junk', {
    call: 'ok',
  }),
  {
    name: 'notifications are never acknowledged',
    how: 'posts without an id hang',
    on: ['http'],
    behaviour: 'ack-never',
    up: { state: 'failed', code: 'TIMEOUT' },
  },
  {
    name: 'binary frames',
    how: 'bytes where text belongs, then the answer',
    on: ['ws'],
    behaviour: 'binary-frames',
    call: 'ok',
  },
  {
    name: 'a frame that breaks the protocol',
    how: 'reserved bits and opcodes',
    on: ['ws'],
    behaviour: 'bad-frame',
    reconnects: 5,
    call: 'IO_ERROR',
    write: 'OUTCOME_UNKNOWN',
  },
  {
    name: 'an orderly close mid-call',
    how: 'close code 1000 instead of an answer',
    on: ['ws'],
    behaviour: 'orderly-close',
    reconnects: 5,
    call: 'IO_ERROR',
    write: 'OUTCOME_UNKNOWN',
  },
]

export const WEB: readonly Fault[] = [...UPS, ...CALLS]
