import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AuthRequired, IoError } from '../errors.ts'
import { withFileLock } from '../files/index.ts'
import { lockPath, serverKey } from './context.ts'
import { type AuthorizationServer, startAuthorizationServer } from './fixtures/authorization-server.ts'
import { type ResourceServer, startResourceServer } from './fixtures/resource-server.ts'
import { type AuthSetup, authSetup, cleanUp, pasting, ping, remote } from './fixtures/setup.ts'
import { login } from './login.ts'
import { authFor } from './request-auth.ts'
import { type Login, loadLogin, saveLogin, type Tokens } from './stored-logins.ts'
import type { Vault } from './vault.ts'

let as: AuthorizationServer
let rs: ResourceServer
let setup: AuthSetup

beforeEach(async () => {
  as = await startAuthorizationServer()
  rs = await startResourceServer({ as })
  setup = authSetup()
  await login(server(), setup.context, pasting(as))
})
afterEach(async () => {
  await rs.close()
  await as.close()
  cleanUp(setup)
})

const server = () => remote('kept', rs.url)
const auth = (context = setup.context) => authFor(server(), context)
const stored = async (): Promise<Login> =>
  (await loadLogin(server(), setup.context)) ?? Promise.reject(new Error('lost'))

async function change(tokens: Partial<Tokens>): Promise<void> {
  const known = await stored()
  await saveLogin(server(), setup.context, { ...known, tokens: { ...known.tokens, ...tokens } })
}
const expire = () => change({ obtainedAt: Date.now() - 7_200_000, expiresAt: Date.now() - 3_600_000 })

/** Responds to token requests in place of the authorization server, this many times. */
function answer(times: number, status: number, body: string, type = 'application/json'): void {
  let left = times
  as.intercept = (request, response) => {
    if (request.url !== '/token' || left-- <= 0) return false
    response.writeHead(status, { 'content-type': type })
    response.end(body)
    return true
  }
}

describe('renewing a login', () => {
  it('happens once for many calls at the same time', async () => {
    await expire()
    const shared = auth()
    const calls = await Promise.all(Array.from({ length: 16 }, () => ping(shared, rs.url)))
    expect(calls.map(({ status }) => status)).toEqual(Array(16).fill(200))
    expect(as.counts).toMatchObject({ refresh: 1, refreshFailed: 0 })
  })

  it('happens once when many calls are refused at the same time', async () => {
    await change({ accessToken: 'no longer good', obtainedAt: Date.now() - 60_000 })
    const shared = auth()
    const calls = await Promise.all(Array.from({ length: 16 }, () => ping(shared, rs.url)))
    expect(calls.map(({ status }) => status)).toEqual(Array(16).fill(200))
    expect(as.counts).toMatchObject({ refresh: 1, refreshFailed: 0 })
  })

  it('happens once for boards that know nothing of each other', async () => {
    await expire()
    const calls = await Promise.all(Array.from({ length: 8 }, () => ping(auth(), rs.url)))
    expect(calls.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(as.counts.refresh).toBe(1)
  })

  it('happens ahead of time, while the old token still works', async () => {
    await change({ obtainedAt: Date.now() - 3_600_000, expiresAt: Date.now() + 20_000 })
    expect((await ping(auth(), rs.url)).status).toBe(200)
    expect(as.counts.refresh).toBe(1)
    expect(rs.counts.refused).toBe(1) // the probe of the login
  })

  it('is put off while the authorization server is in trouble and the old token holds', async () => {
    await change({ obtainedAt: Date.now() - 3_600_000, expiresAt: Date.now() + 20_000 })
    answer(1, 500, 'oops')
    expect((await ping(auth(), rs.url)).status).toBe(200)
    expect(setup.notices).toHaveLength(1)
  })

  it('fails for now, losing nothing, when the server is in trouble and nothing holds', async () => {
    await expire()
    const before = await stored()
    answer(1, 500, 'oops')
    await expect(ping(auth(), rs.url)).rejects.toBeInstanceOf(IoError)
    expect(await stored()).toEqual(before)
    expect((await ping(auth(), rs.url)).status).toBe(200)
  })

  it.each([
    ['a page instead of an answer', 200, '<html>maintenance</html>', 'text/html'],
    ['an answer without a token', 200, '{"ok":true}', 'application/json'],
    ['a list', 200, '[]', 'application/json'],
  ])('loses nothing by %s', async (_what, status, body, type) => {
    await expire()
    const before = await stored()
    answer(1, status, body, type)
    await expect(ping(auth(), rs.url)).rejects.toMatchObject({ refusal: 'bad-response' })
    expect(await stored()).toEqual(before)
    expect((await ping(auth(), rs.url)).status).toBe(200)
  })

  it('loses nothing by an answer of 100 MB', async () => {
    await expire()
    const before = await stored()
    as.intercept = (request, response) => {
      if (request.url !== '/token') return false
      as.intercept = undefined
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100_000_000 })
      response.write('{"access_token":"')
      return true
    }
    await expect(ping(auth(), rs.url)).rejects.toMatchObject({ refusal: 'response-too-large' })
    expect(await stored()).toEqual(before)
  })

  it('takes an answer without expires_in, and then waits for a 401', async () => {
    await expire()
    const good = (await stored()).tokens.accessToken
    answer(1, 200, JSON.stringify({ access_token: good, token_type: 'Bearer', refresh_token: 'next' }))
    expect((await ping(auth(), rs.url)).status).toBe(200)
    const { tokens } = await stored()
    expect(tokens).toMatchObject({ accessToken: good, refreshToken: 'next' })
    expect(tokens.expiresAt).toBeUndefined()
  })

  it.each([['"soon"'], ['null'], ['-5'], ['1e400']])(
    'keeps the refresh token of an answer with expires_in %s',
    async (expires) => {
      await expire()
      answer(
        1,
        200,
        `{"access_token":"x","token_type":"bearer","refresh_token":"next","expires_in":${expires}}`,
      )
      await ping(auth(), rs.url).catch(() => undefined)
      expect((await stored()).tokens.refreshToken).toBe('next')
    },
  )

  it('does not mind a server whose clock is ten minutes off', async () => {
    await expire()
    setup.advance(-600_000)
    expect((await ping(auth(), rs.url)).status).toBe(200)
    setup.advance(1_200_000)
    expect((await ping(auth(), rs.url)).status).toBe(200)
    expect(as.counts.refresh).toBe(1)
  })

  it('adopts what a sibling saved when its own refresh token turns out to be spent', async () => {
    await expire()
    const good = (await stored()).tokens
    as.intercept = (request, response) => {
      if (request.url !== '/token') return false
      as.intercept = undefined
      // Another process, without the lock, is slightly faster.
      void change({
        ...good,
        accessToken: good.accessToken,
        refreshToken: 'siblings',
        obtainedAt: Date.now(),
        expiresAt: Date.now() + 3_600_000,
      })
        .then(async () => {
          const known = await stored()
          await saveLogin(server(), setup.context, {
            ...known,
            tokens: { ...known.tokens, accessToken: siblingToken },
            generation: known.generation + 1,
          })
        })
        .then(() => {
          response.writeHead(400, { 'content-type': 'application/json' })
          response.end('{"error":"invalid_grant"}')
        })
      return true
    }
    const siblingToken = `${good.accessToken}-sibling`
    await ping(auth(), rs.url).catch(() => undefined)
    expect((await stored()).tokens).toMatchObject({ accessToken: siblingToken, refreshToken: 'siblings' })
  })

  it('asks for a login when the grant is dead, and keeps the client registration for it', async () => {
    await expire()
    answer(1, 400, '{"error":"invalid_grant","error_description":"gone"}')
    await expect(ping(auth(), rs.url)).rejects.toBeInstanceOf(AuthRequired)
    const { tokens, client } = await stored()
    expect(tokens.refreshToken).toBeUndefined()
    expect(client.source).toBe('registered')
    await expect(ping(auth(), rs.url)).rejects.toBeInstanceOf(AuthRequired)
    expect(as.requests.filter((request) => request === 'POST /token')).toHaveLength(2)
    await login(server(), setup.context, pasting(as))
    expect((await ping(auth(), rs.url)).status).toBe(200)
    expect(as.counts.registered).toBe(1)
  })

  it('registers anew when the authorization server has forgotten this client', async () => {
    await expire()
    answer(1, 401, '{"error":"invalid_client"}')
    await expect(ping(auth(), rs.url)).rejects.toBeInstanceOf(AuthRequired)
    await login(server(), setup.context, pasting(as))
    expect(as.counts.registered).toBe(2)
    expect((await ping(auth(), rs.url)).status).toBe(200)
  })

  it('does not hammer the authorization server for a server that refuses every token', async () => {
    const other = await startResourceServer({
      as,
      accepts: () => false,
      metadata: (url) => ({ resource: url, authorization_servers: [as.issuer], scopes_supported: ['mcp'] }),
    })
    try {
      const stubborn = remote('stubborn', other.url)
      await login(stubborn, setup.context, pasting(as))
      const shared = authFor(stubborn, setup.context)
      for (let call = 0; call < 5; call++)
        await expect(ping(shared, other.url)).rejects.toBeInstanceOf(AuthRequired)
      expect(as.counts.refresh).toBe(0)
    } finally {
      await other.close()
    }
  })
})

describe('a vault in trouble', () => {
  /** The disk of this vault is full from the n-th write on. */
  function filling(writes: number): { vault: Vault; heal(): void } {
    const real = setup.context.vault
    let left = writes
    return {
      vault: {
        ...real,
        set: async (name, value) => {
          if (left-- <= 0) throw new IoError('could not be written (ENOSPC).', { stage: 'auth' })
          await real.set(name, value)
        },
      },
      heal: () => {
        left = Number.POSITIVE_INFINITY
      },
    }
  }

  it('sends the user to no login that could not be kept', async () => {
    const { vault } = filling(0)
    const before = as.requests.length
    await expect(login(server(), { ...setup.context, vault }, pasting(as))).rejects.toBeInstanceOf(IoError)
    expect(as.requests).toHaveLength(before)
  })

  it('spends no refresh token when its successor could not be kept', async () => {
    await expire()
    const before = await stored()
    const { vault, heal } = filling(0)
    const shared = auth({ ...setup.context, vault })
    await expect(ping(shared, rs.url)).rejects.toBeInstanceOf(IoError)
    expect(as.counts.refresh).toBe(0)
    expect(await stored()).toEqual(before)
    heal()
    expect((await ping(shared, rs.url)).status).toBe(200)
  })

  it('keeps a renewed login in memory until it can be saved, and says so', async () => {
    await expire()
    const { vault, heal } = filling(1)
    const shared = auth({ ...setup.context, vault })
    expect((await ping(shared, rs.url)).status).toBe(200)
    expect((await ping(shared, rs.url)).status).toBe(200)
    expect(setup.notices[0]).toContain('kept in memory')
    expect(as.counts.refresh).toBe(1)
    heal()
    expect((await ping(shared, rs.url)).status).toBe(200)
    expect((await stored()).tokens.expiresAt).toBeGreaterThan(Date.now())
    expect(as.counts.refresh).toBe(1)
  })

  it('asks for a login when the stored one is damaged, and keeps what is left of it', async () => {
    const vaultDir = join(setup.dir, 'vault')
    for (const name of readdirSync(vaultDir))
      if (/^[0-9a-f]{64}/.test(name)) writeFileSync(join(vaultDir, name), '{"iv":"')
    const error = await ping(auth(), rs.url).catch((caught) => caught)
    expect(error).toBeInstanceOf(AuthRequired)
    expect(error.hint).toContain('damaged')
    await login(server(), setup.context, pasting(as))
    expect((await ping(auth(), rs.url)).status).toBe(200)
    expect(readdirSync(vaultDir).some((name) => name.includes('.damaged-'))).toBe(true)
  })

  it('takes over the lock of a dead process at once', async () => {
    await expire()
    const lock = `${lockPath(setup.context, serverKey(server()))}.lock`
    mkdirSync(dirname(lock), { recursive: true })
    writeFileSync(
      lock,
      JSON.stringify({ pid: 2 ** 22 - 3, host: (await import('node:os')).hostname(), token: 'x' }),
    )
    expect((await ping(auth(), rs.url)).status).toBe(200)
    expect(existsSync(lock)).toBe(false)
  })

  it('takes over the lock of another machine when its heartbeat has stopped', async () => {
    await expire()
    const lock = `${lockPath(setup.context, serverKey(server()))}.lock`
    mkdirSync(dirname(lock), { recursive: true })
    writeFileSync(lock, JSON.stringify({ pid: 1, host: 'elsewhere', token: 'x' }))
    utimesSync(lock, new Date(Date.now() - 60_000), new Date(Date.now() - 60_000))
    expect((await ping(auth(), rs.url)).status).toBe(200)
  })

  it('waits for a living sibling and adopts its result', async () => {
    await expire()
    const known = await stored()
    let call: Promise<Response> | undefined
    await withFileLock(
      lockPath(setup.context, serverKey(server())),
      { waitMs: 5000, staleMs: 20_000 },
      async () => {
        call = ping(auth(), rs.url)
        await new Promise((done) => setTimeout(done, 150))
        await saveLogin(server(), setup.context, {
          ...known,
          tokens: { ...known.tokens, obtainedAt: Date.now(), expiresAt: Date.now() + 3_600_000 },
          generation: known.generation + 1,
        })
      },
    )
    expect((await call)?.status).toBe(200)
    expect(as.counts.refresh).toBe(0)
  })
})
