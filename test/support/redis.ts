// redis.ts: a Redis of its own for one test: a free port on loopback, nothing on disk, stopped by its process id.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from './free-port.mjs'

export interface RedisServer {
  readonly url: string
  readonly port: number
  /** Again on the same port, empty. */
  start(): Promise<void>
  /** SIGKILL: clients see a broken connection. */
  stop(): Promise<void>
  /** SIGSTOP: its connections stay open, and it answers nothing until it goes on. */
  pause(): void
  goOn(): void
}

export async function startRedis(): Promise<RedisServer> {
  const port = await freePort()
  let child: ChildProcess | undefined
  let folder = ''
  const server: RedisServer = {
    port,
    url: `redis://127.0.0.1:${port}`,
    start: async () => {
      folder = mkdtempSync(join(tmpdir(), 'plugboard-redis-'))
      const options = [
        '--port',
        port,
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--appendonly',
        'no',
        '--dir',
        folder,
      ]
      child = spawn('redis-server', options.map(String), { stdio: 'ignore' })
      const end = Date.now() + 20_000
      while (!(await answers(port))) {
        if (Date.now() > end || child.exitCode !== null) throw new Error('redis-server did not start.')
        await new Promise((done) => setTimeout(done, 25))
      }
    },
    stop: async () => {
      const running = child
      child = undefined
      if (!running || running.exitCode !== null || running.signalCode !== null) return
      const ended = once(running, 'exit')
      running.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
    pause: () => void child?.kill('SIGSTOP'),
    goOn: () => void child?.kill('SIGCONT'),
  }
  await server.start()
  return server
}

function answers(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('error', () => done(false))
    socket.once('connect', () => {
      socket.destroy()
      done(true)
    })
  })
}
