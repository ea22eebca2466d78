// Twenty processes, one expired login, one refresh. And the same when one of them is killed holding the lock.
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lockPath, serverKey } from './context.ts'
import { type AuthorizationServer, startAuthorizationServer } from './fixtures/authorization-server.ts'
import { type ResourceServer, startResourceServer } from './fixtures/resource-server.ts'
import { type AuthSetup, authSetup, cleanUp, pasting, remote } from './fixtures/setup.ts'
import { login } from './login.ts'
import { loadLogin, saveLogin } from './stored-logins.ts'

const PROCESSES = 20
const ROUNDS = process.env.PLUGBOARD_LONG ? 50 : 3

let as: AuthorizationServer
let rs: ResourceServer
let setup: AuthSetup
let script: string
const workers: ChildProcess[] = []

const server = () => remote('shared', rs.url)

beforeAll(async () => {
  as = await startAuthorizationServer()
  rs = await startResourceServer({ as })
  setup = authSetup()
  script = join(setup.dir, 'worker.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('./fixtures/race-worker.ts', import.meta.url))],
    outfile: script,
    bundle: true,
    platform: 'node',
    format: 'esm',
    external: ['@napi-rs/keyring'],
    banner: { js: "import{createRequire as __cr}from'node:module';const require=__cr(import.meta.url);" },
    logLevel: 'error',
  })
  await login(server(), setup.context, pasting(as))
  await Promise.all(Array.from({ length: PROCESSES }, hire))
})
afterAll(async () => {
  for (const worker of workers) worker.kill('SIGKILL')
  await rs.close()
  await as.close()
  cleanUp(setup)
})

async function hire(): Promise<void> {
  const worker = fork(script, [setup.dir, rs.url], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  workers.push(worker)
  await new Promise((ready) => worker.once('message', ready))
}

/** In every second round the clock says that the token has expired, in the others only the server does. */
async function expire(round: number): Promise<void> {
  const known = await loadLogin(server(), setup.context)
  if (!known) throw new Error('the login was lost')
  const { expiresAt: _gone, ...tokens } = known.tokens
  const longAgo = Date.now() - 3_600_000
  const over =
    round % 2 === 0
      ? { ...tokens, obtainedAt: longAgo, expiresAt: longAgo + 60_000 }
      : { ...tokens, obtainedAt: longAgo, accessToken: `refused-${round}` }
  await saveLogin(server(), setup.context, { ...known, tokens: over, generation: known.generation + 1 })
}

function call(worker: ChildProcess): Promise<unknown> {
  return new Promise((done) => {
    worker.once('message', (message) => done((message as { status: unknown }).status))
    worker.once('exit', () => done('killed'))
    worker.send({})
  })
}

describe('a login shared by twenty processes', () => {
  it(
    `is refreshed exactly once in each of ${ROUNDS} rounds, and every call succeeds`,
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        await expire(round)
        const before = as.counts.refresh
        expect(await Promise.all(workers.map(call)), `round ${round}`).toEqual(Array(PROCESSES).fill(200))
        expect(as.counts.refresh - before, `round ${round}`).toBe(1)
      }
      expect(as.counts.refreshFailed).toBe(0)
    },
    ROUNDS * 20_000,
  )

  it(
    `survives that the one who holds the lock is killed, ${ROUNDS} times`,
    async () => {
      for (let round = 0; round < ROUNDS; round++) {
        await expire(round)
        const before = as.counts.refresh
        const lockFile = `${lockPath(setup.context, serverKey(server()))}.lock`
        const held = new Promise<number>((found) => {
          as.intercept = (request) => {
            if (!request.url?.startsWith('/token')) return false
            // The request never reaches the authorization server: its sender dies while it waits.
            as.intercept = undefined
            found((JSON.parse(readFileSync(lockFile, 'utf8')) as { pid: number }).pid)
            return true
          }
        })
        const calls = Promise.all(workers.map(call))
        const victim = await held
        const index = workers.findIndex((worker) => worker.pid === victim)
        workers[index]?.kill('SIGKILL')
        const outcomes = await calls
        expect(
          outcomes.filter((status) => status === 200),
          `round ${round}`,
        ).toHaveLength(PROCESSES - 1)
        expect(outcomes[index]).toBe('killed')
        expect(as.counts.refresh - before, `round ${round}`).toBe(1)
        workers.splice(index, 1)
        await hire()
      }
      expect(as.counts.refreshFailed).toBe(0)
    },
    ROUNDS * 20_000,
  )
})
