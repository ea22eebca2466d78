// process.ts: faults besides the responses: noise, floods, living on and ending.
import { setTimeout as pause } from 'node:timers/promises'
import { type Fault, KINDS } from '../fault.ts'

export const PROCESS: readonly Fault[] = [
  {
    name: 'banner and junk',
    how: 'text, colours and broken JSON where messages belong',
    on: KINDS,
    behaviour: 'banner-and-junk',
    quick: true,
    call: 'ok',
  },
  {
    name: 'JSON that is not JSON-RPC',
    how: 'log lines, numbers, nulls, arrays',
    on: KINDS,
    behaviour: 'json-not-rpc',
    call: 'ok',
  },
  {
    name: 'odd bytes',
    how: 'invalid UTF-8, NUL, BOM, lone surrogates',
    on: KINDS,
    behaviour: 'odd-bytes',
    call: 'ok',
  },
  { name: 'a batch', how: 'the answer comes in an array', on: KINDS, behaviour: 'batch-answer', call: 'ok' },
  {
    name: 'byte by byte',
    how: 'characters cut in the middle, CRLF',
    on: ['stdio'],
    behaviour: 'split-bytes',
    call: 'ok',
  },
  {
    name: '100 MB without a newline',
    how: 'a line that never ends',
    on: ['stdio'],
    behaviour: 'endless-line',
    timeoutMs: 3000,
    call: 'TIMEOUT',
    write: 'TIMEOUT',
    peakMiB: 400,
  },
  {
    name: 'closes its output and lives',
    how: 'stdout is closed, the process stays and ignores signals',
    on: ['stdio'],
    behaviour: 'closes-stdout',
    quick: true,
    reconnects: 5,
    call: 'IO_ERROR',
    write: 'OUTCOME_UNKNOWN',
  },
  {
    name: 'does not leave',
    how: 'ignores the end of its input, SIGINT and SIGTERM',
    on: ['stdio'],
    behaviour: 'stubborn',
    quick: true,
    call: 'ok',
  },
  {
    name: 'is frozen',
    how: 'stopped by SIGSTOP while it is called and when the board closes',
    on: ['stdio'],
    also: [
      'call `TIMEOUT`, and closing is bounded all the same',
      async ({ noted, call, check }) => {
        process.kill(Number(noted('pids').at(-1)), 'SIGSTOP')
        const outcome = await call('echo')
        check(outcome === 'TIMEOUT', `the call ended with ${outcome}`)
      },
    ],
    after: 'TIMEOUT',
  },
  {
    name: 'is frozen for good',
    how: 'stopped by SIGSTOP, and never continued',
    on: ['stdio'],
    also: [
      'call `TIMEOUT`, then it is restarted',
      async ({ noted, server, call, check }) => {
        process.kill(Number(noted('pids').at(-1)), 'SIGSTOP')
        const outcome = await call('echo')
        check(outcome === 'TIMEOUT', `the call ended with ${outcome}`)
        for (let i = 0; i < 1500 && noted('pids').length < 2; i++) await pause(10)
        check(noted('pids').length === 2, `it had ${noted('pids').length} lives`)
        for (let i = 0; i < 1500 && server().state !== 'connected'; i++) await pause(10)
      },
    ],
    after: 'ok',
  },
  {
    name: 'is killed from outside',
    how: 'SIGKILL between two calls',
    on: ['stdio'],
    also: [
      'comes back by itself',
      async ({ noted, server, check }) => {
        process.kill(Number(noted('pids').at(-1)), 'SIGKILL')
        for (let i = 0; i < 300 && noted('pids').length < 2; i++) await pause(10)
        check(noted('pids').length === 2, `it had ${noted('pids').length} lives`)
        for (let i = 0; i < 300 && server().state !== 'connected'; i++) await pause(10)
        check(server().state === 'connected', `it is ${server().state}`)
      },
    ],
  },
  {
    name: 'stops reading',
    how: 'reads no more while 8 MiB of arguments are sent to it',
    on: ['stdio'],
    behaviour: 'stops-reading',
    call: 'TIMEOUT',
    timeoutMs: 700,
    peakMiB: 300,
    also: [
      'large calls time out as well',
      async ({ call, check }) => {
        const outcome = await call('echo', { big: 'x'.repeat(8 * 1024 * 1024) })
        check(outcome === 'TIMEOUT', `the call ended with ${outcome}`)
      },
    ],
    after: 'TIMEOUT',
  },
  {
    name: 'grandchildren',
    how: 'starts a child of its own that ignores signals',
    on: ['stdio'],
    behaviour: 'grandchildren',
    quick: true,
    call: 'ok',
  },
  {
    name: 'grandchildren that outlive it',
    how: 'exits after a call, its child stays',
    on: ['stdio'],
    behaviour: 'grandchildren-outlive',
    reconnects: 5,
    call: 'ok',
    write: ['ok', 'OUTCOME_UNKNOWN'],
  },
  {
    name: 'log flood',
    how: '50 000 log notifications before the answer',
    on: KINDS,
    behaviour: 'notification-flood',
    timeoutMs: 15_000,
    call: 'ok',
    peakMiB: 300,
  },
  {
    name: 'flood of unknown notifications',
    how: '50 000 with names of their own',
    on: KINDS,
    behaviour: 'unknown-notification-flood',
    timeoutMs: 15_000,
    call: 'ok',
    peakMiB: 300,
  },
  {
    name: 'stderr flood',
    how: '30 MB of lines',
    on: ['stdio'],
    behaviour: 'stderr-flood',
    timeoutMs: 15_000,
    call: 'ok',
  },
  {
    name: 'stderr without a newline',
    how: '50 MiB of one line',
    on: ['stdio'],
    behaviour: 'stderr-endless-line',
    timeoutMs: 15_000,
    call: 'ok',
  },
  {
    name: 'list_changed storm',
    how: '10 000 in a burst',
    on: KINDS,
    behaviour: 'list-changed-storm',
    timeoutMs: 10_000,
    call: 'ok',
    also: [
      'the list is read a handful of times',
      async ({ noted, check }) => {
        await pause(500)
        const reads = noted('seen').filter((method) => method === 'tools/list').length
        check(reads <= 12, `it was read ${reads} times`)
      },
    ],
  },
  {
    name: 'list_changed on every reading',
    how: 'announces a change whenever its list is read',
    on: ['stdio', 'sse', 'ws'],
    behaviour: 'list-changed-echo',
    call: 'ok',
    also: [
      'it is read at most ten times a second',
      async ({ noted, check }) => {
        await pause(1500)
        const reads = noted('seen').filter((method) => method === 'tools/list').length
        check(reads <= 20, `it was read ${reads} times`)
      },
    ],
  },
  {
    name: 'cancels what is not its own',
    how: 'notifications/cancelled for our ids',
    on: KINDS,
    behaviour: 'cancels-others',
    call: 'ok',
  },
  {
    name: 'exits after three calls',
    how: 'a server that leaves after every third answer',
    on: ['stdio'],
    behaviour: 'exits-after-three',
    reconnects: 10,
    also: [
      'ten calls, ten answers',
      async ({ call, check }) => {
        for (let i = 0; i < 10; i++) {
          const outcome = await call('odd')
          check(outcome === 'ok', `call ${i} ended with ${outcome}`)
          await pause(20)
        }
      },
    ],
  },
  {
    name: 'never stays',
    how: 'dies on every call of one tool, more often than it is brought back',
    on: ['stdio', 'sse', 'ws'],
    behaviour: 'never-stays',
    reconnects: 2,
    also: [
      'failed after its attempts, with a code, and tried again by the next call',
      async ({ call, server, check }) => {
        for (let i = 0; i < 4; i++) await call('odd')
        for (let i = 0; i < 300 && server().state !== 'failed'; i++) await pause(10)
        check(server().state === 'failed', `it is ${server().state}`)
        check(server().error?.code === 'IO_ERROR', `its error is ${server().error?.code}`)
      },
    ],
    after: 'ok',
  },
  {
    name: 'pings are not answered',
    how: 'the line is open, pings go into the void',
    on: ['http', 'sse', 'ws'],
    behaviour: 'ping-silent',
    quicker: 100,
    timeoutMs: 60_000,
    also: [
      'three missed ones bring a new connection',
      async ({ noted, check }) => {
        const handshakes = () => noted('seen').filter((method) => method === 'initialize').length
        for (let i = 0; i < 600 && handshakes() < 2; i++) await pause(10)
        check(handshakes() >= 2, 'it was not connected anew')
      },
    ],
  },
]
