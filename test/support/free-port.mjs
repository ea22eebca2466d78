// free-port.mjs: a port for a program that has to be told one before it starts.
// Systems give ports from 32768 upwards to any program that asks for a free one, so such a port may be taken again before
// the program has it. These are below.
import { createServer } from 'node:net'

const FIRST = 20_000
const LAST = 32_000
const TRIES = 100

export async function freePort() {
  for (let left = TRIES; left > 0; left--) {
    const port = FIRST + Math.floor(Math.random() * (LAST - FIRST))
    if (await isFree(port)) return port
  }
  throw new Error(`No free port was found between ${FIRST} and ${LAST}.`)
}

function isFree(port) {
  return new Promise((resolve) => {
    const probe = createServer()
      .once('error', () => resolve(false))
      .listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
