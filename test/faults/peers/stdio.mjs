// stdio.mjs: the model server as a child process: `node stdio.mjs NAME DIR [ARGUMENT]`. Every process writes its pid to DIR/pids.
import { spawn } from 'node:child_process'
import { closeSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { behaviourNamed } from './behaviours.mjs'
import { memory, modelServer } from './model.mjs'

const [behaviourName = 'good', dir = '.', argument = ''] = process.argv.slice(2)
const { note, once } = memory(dir)
note('pids', process.pid)

/** Past the stream's own buffer, so that a flood does not fill this process's memory. */
function writeAll(fd, data) {
  const bytes = Buffer.from(data)
  for (let at = 0; at < bytes.length; )
    try {
      at += writeSync(fd, bytes, at)
    } catch (error) {
      if (error.code === 'EAGAIN') continue
      process.exit(0)
    }
}

const channel = {
  kind: 'stdio',
  dir,
  argument,
  send: (message) => process.stdout.write(`${JSON.stringify(message)}\n`),
  raw: (text) => process.stdout.write(text),
  flood: (text, times) => {
    for (let i = 0; i < times; i++) writeAll(1, text)
  },
  stderr: (text, times = 1) => {
    for (let i = 0; i < times; i++) writeAll(2, text)
  },
  die: () => process.exit(1),
  closeOutput: () => closeSync(1),
  grandchild: (options = {}) => {
    const code =
      'process.on("SIGTERM", () => {}); process.on("SIGINT", () => {}); setInterval(() => {}, 1000)'
    const child = spawn(process.execPath, ['-e', code], { stdio: 'ignore', ...options })
    note('pids', child.pid)
  },
}
process.stdout.on('error', () => {
  // The reader is gone; the misbehaviour decides what happens next.
})
const behaviour = behaviourNamed(behaviourName)
behaviour.start?.({ ...channel, note, once })
if (!behaviour.deaf) {
  const receive = modelServer(behaviourName, channel)
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => receive(JSON.parse(line)))
  if (!behaviour.stubborn) lines.on('close', () => process.exit(0))
}
if (behaviour.stubborn || behaviour.deaf) {
  setInterval(() => {}, 1000)
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {})
}
