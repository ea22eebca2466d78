// behaviours-process.mjs: what a server does wrong besides its responses: noise, floods, how it lives on and how it ends.
import { MIB, onCall, text } from './transports.mjs'

const notification = (method, params = {}) => ({ jsonrpc: '2.0', method, params })
/** One frame of any transport. */
const frame = (kind, line) => (kind === 'stdio' ? `${line}\n` : kind === 'ws' ? line : `data: ${line}\n\n`)

export const PROCESS = {
  'banner-and-junk': {
    start: ({ raw }) => raw('Welcome to the server!\n\u001b[32mready\u001b[0m\n{broken\n[1, 2]\n\n\n'),
    call: ({ raw, answer, kind }) => {
      raw(frame(kind, 'something to say'))
      raw(frame(kind, '{"half": '))
      answer(text('ok'))
      return true
    },
  },
  'json-not-rpc': {
    start: ({ raw }) => raw('{"level":"info","msg":"started"}\n'),
    call: ({ raw, answer, kind }) => {
      for (const line of [
        '{"level":"info"}',
        '"text"',
        '7',
        'null',
        'true',
        '[]',
        '[7]',
        '{"jsonrpc":"1.0","id":1}',
      ])
        raw(frame(kind, line))
      answer(text('ok'))
      return true
    },
  },
  'odd-bytes': onCall(({ raw, answer, kind }) => {
    raw(
      kind === 'stdio'
        ? Buffer.from([0xff, 0xfe, 0x00, 0xc3, 0x28, 0x0a, 0x0d, 0x0a, 0xef, 0xbb, 0xbf, 0x0a])
        : frame(kind, '\u0000\ufeff\ufffd'),
    )
    answer(text('lone \ud800 surrogate'))
  }),
  'batch-answer': onCall(({ raw, message, kind, response }) => {
    raw(frame(kind, JSON.stringify([{ jsonrpc: '2.0', id: message.id, result: text('ok') }])))
    if (kind === 'http') response.end()
  }),
  'split-bytes': onCall(({ message, raw }) => {
    const bytes = Buffer.from(
      `${JSON.stringify({ jsonrpc: '2.0', id: message.id, result: text('grüße 🎉') })}\r\n`,
    )
    let at = 0
    const next = () => {
      if (at >= bytes.length) return
      raw(bytes.subarray(at, ++at))
      setImmediate(next)
    }
    next()
  }),
  'endless-line': onCall(({ flood }) => flood('x'.repeat(MIB), 100)),
  'closes-stdout': { ...onCall(({ closeOutput }) => closeOutput()), stubborn: true },
  stubborn: { stubborn: true },
  deaf: { deaf: true },
  'stops-reading': onCall(() => {
    process.stdin.pause()
    setInterval(() => {}, 1000)
  }),
  grandchildren: { start: ({ grandchild }) => grandchild() },
  'grandchildren-outlive': {
    start: ({ grandchild }) => grandchild(),
    call: ({ answer, die }) => {
      answer(text('ok'))
      setTimeout(die, 20)
      return true
    },
  },
  'notification-flood': onCall(({ send, answer }) => {
    for (let i = 0; i < 50_000; i++)
      send(notification('notifications/message', { level: 'info', data: `line ${i} ${'z'.repeat(100)}` }))
    answer(text('ok'))
  }),
  'unknown-notification-flood': onCall(({ send, answer }) => {
    for (let i = 0; i < 50_000; i++) send(notification(`notifications/odd-${i}`, { i }))
    answer(text('ok'))
  }),
  'stderr-flood': onCall(({ stderr, answer }) => {
    stderr(`${'e'.repeat(99)}\n`.repeat(1000), 300)
    answer(text('ok'))
  }),
  'stderr-endless-line': onCall(({ stderr, answer }) => {
    stderr('e'.repeat(MIB), 50)
    answer(text('ok'))
  }),
  'list-changed-storm': onCall(({ send, answer }) => {
    for (let i = 0; i < 10_000; i++) send(notification('notifications/tools/list_changed'))
    answer(text('ok'))
  }),
  'list-changed-echo': {
    // A server that announces a change whenever its list is read.
    'tools/list': ({ send }) => {
      send(notification('notifications/tools/list_changed'))
      return false
    },
  },
  'cancels-others': onCall(({ send, answer, message }) => {
    for (const requestId of [message.id, 'q', 1, null])
      send(notification('notifications/cancelled', { requestId, reason: 'because' }))
    answer(text('ok'))
  }),
  'ping-silent': { ping: () => true },
  'dies-when-up': {
    'tools/list': ({ die, once }) => {
      if (once('died')) setTimeout(die, 100)
      return false
    },
  },
  'never-stays': {
    call: ({ die }) => {
      die()
      return true
    },
  },
  'exits-after-three': {
    call: ({ note, answer, die, dir, once }) => {
      answer(text('ok'))
      for (let i = 0; i < 3; i++)
        if (once(`${process.pid}-${i}`)) {
          if (i === 2) setTimeout(die, 5)
          break
        }
      note('lives', dir)
      return true
    },
  },
}
