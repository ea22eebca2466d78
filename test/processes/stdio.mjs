// A stdio server with one fault, named by FAULT. MARK is a file that records that the fault has happened: it happens once.
// Each process appends its pid to PIDS.
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { answer } from './model.mjs'

const { FAULT = '', MARK, PIDS } = process.env
if (PIDS) appendFileSync(PIDS, `${process.pid}\n`)
const once = () => {
  if (MARK && existsSync(MARK)) return false
  if (MARK) writeFileSync(MARK, '')
  return true
}
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`)
const exit = () => {
  process.stderr.write('the disk is on fire\n')
  process.exit(3)
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const message = JSON.parse(line)
    const { method, params } = message
    if (FAULT === 'never-starts') return
    if (method === 'tools/call' && FAULT === 'exits-in-call' && once()) exit()
    if (method === 'tools/call' && FAULT === 'crashes' && params.name === 'write') exit()
    if (method === 'tools/call' && FAULT === 'never-answers') return
    if (method === 'tools/call' && FAULT === 'hangs' && once()) process.kill(process.pid, 'SIGSTOP')
    if (method === 'tools/call' && FAULT === 'huge' && params.name === 'look') {
      say({
        result: { content: [{ type: 'text', text: 'x'.repeat(70_000_000) }] },
        jsonrpc: '2.0',
        id: message.id,
      })
      return
    }
    if (method === 'tools/call' && FAULT === 'floods') {
      let asked = 0
      // Requests without end, and no answer.
      const more = () => {
        for (let n = 0; n < 200; n++)
          say({ jsonrpc: '2.0', id: `q${++asked}`, method: n % 2 ? 'ping' : 'roots/list' })
        setImmediate(more)
      }
      more()
      return
    }
    if (method === 'tools/call' && FAULT === 'only-progress') {
      const { progressToken } = params._meta ?? {}
      let progress = 0
      setInterval(() => {
        const news = { progressToken, progress: ++progress }
        say({ jsonrpc: '2.0', method: 'notifications/progress', params: news })
      }, 50)
      return
    }
    if (method === FAULT.match(/^exits-at:(.*)$/)?.[1] && once()) exit()
    const said = answer(message)
    if (method === 'tools/call' && FAULT === 'leaves-out-newline') {
      process.stdout.write(JSON.stringify(said), () => process.exit(0))
      return
    }
    if (said) say(said)
    if (method === 'tools/list' && FAULT === 'exits-after-list' && once()) setTimeout(exit, 20)
  })
  .on('close', () => process.exit(0))
