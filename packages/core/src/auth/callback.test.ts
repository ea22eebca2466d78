import { type AddressInfo, connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { afterEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { type Callback, listenForCallback } from './callback.ts'

let callback: Callback | undefined
afterEach(async () => {
  await callback?.close()
  callback = undefined
})

/** Raw bytes, which no HTTP library would send. */
function send(port: number, text: string): Promise<string> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1', () => socket.end(text))
    let answer = ''
    socket.on('data', (bytes) => {
      answer += bytes
    })
    socket.on('error', () => done(answer))
    socket.on('close', () => done(answer))
  })
}

describe('the web server that a browser comes back to', () => {
  it('outlives every request that is not the answer', async () => {
    callback = await listenForCallback({ host: systemHost(), server: 's', state: 'right' })
    const port = Number(new URL(callback.redirectUri).port)
    const targets = [
      '//',
      '///',
      '//x',
      '//[',
      '/\\\\',
      '/%',
      '/callback?state=%',
      '/callback?state=%ff%fe',
      'http://',
      'http://[',
      'http://localhost//callback',
      '*',
      '/callback#x',
      '/callback?state=wrong&code=c',
      `/${'a'.repeat(8000)}`,
    ]
    for (const target of targets)
      for (const method of ['GET', 'POST', 'OPTIONS', 'CONNECT'])
        await send(
          port,
          `${method} ${target} HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`,
        )
    await send(port, 'nonsense\r\n\r\n')
    await send(
      port,
      `GET / HTTP/1.1\r\nHost: localhost:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    )
    expect(
      await send(port, `GET // HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`),
    ).toMatch(/^HTTP\/1\.1 400/)
    const page = await send(
      port,
      `GET /callback?state=right&code=abc HTTP/1.1\r\nHost: localhost:${port}\r\nConnection: close\r\n\r\n`,
    )
    expect(page).toMatch(/^HTTP\/1\.1 200/)
    expect((await callback.answer).get('code')).toBe('abc')
  })

  it('gives each kind of request its own status, and only the answer ends the login', async () => {
    callback = await listenForCallback({ host: systemHost(), server: 's', state: 'right' })
    const port = Number(new URL(callback.redirectUri).port)
    const status = async (target: string, { method = 'GET', host = `localhost:${port}` } = {}) => {
      const page = await send(
        port,
        `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`,
      )
      return [Number(/^HTTP\/1\.1 (\d+)/.exec(page)?.[1]), /<p>([^\r\n<]*)/.exec(page)?.[1]]
    }
    const answer = '/callback?state=right&code=abc'
    expect(await status(answer, { host: 'evil.example' })).toEqual([403, 'Not for this address.'])
    expect(await status(answer, { host: `localhost:${port + 1}` })).toEqual([403, 'Not for this address.'])
    expect(await status(answer, { method: 'POST' })).toEqual([405, 'Only GET.'])
    for (const target of ['//', '//x/callback', '*', `http://localhost:${port}${answer}`])
      expect([target, ...(await status(target))]).toEqual([target, 400, 'Not a path.'])
    for (const target of ['/', '/callback/', '/other?state=right&code=abc'])
      expect([target, ...(await status(target))]).toEqual([target, 404, 'Nothing here.'])
    for (const query of ['', '?state=', '?state=wrong', '?state=rightx', '?code=abc'])
      expect([query, ...(await status(`/callback${query}`))]).toEqual([
        query,
        400,
        'This is not the answer to the login that is under way.',
      ])
    for (const host of [`127.0.0.1:${port}`, `[::1]:${port}`])
      expect((await status('/', { host }))[0]).toBe(404)
    expect(await status(answer)).toEqual([200, expect.stringContaining('You can close this page')])
    expect(await status(answer)).toEqual([410, 'This login is already finished.'])
    expect((await callback.answer).get('code')).toBe('abc')
  })

  it('says on its page that a login did not go through', async () => {
    callback = await listenForCallback({ host: systemHost(), server: 's', state: 'right' })
    const page = await fetch(`${callback.redirectUri}?state=right&error=access_denied`)
    expect(await page.text()).toContain('did not go through')
    expect((await callback.answer).get('error')).toBe('access_denied')
  })

  it('listens where `localhost` may lead, and leaves neither a server nor a timer behind', async () => {
    const open = new Set<() => void>()
    const host = systemHost({
      awaitedTimer: (_ms, run) => {
        open.add(run)
        return () => open.delete(run)
      },
    })
    const own = await listenForCallback({ host, server: 's', state: 'right' })
    const port = Number(new URL(own.redirectUri).port)
    const status = (address: string) =>
      fetch(`http://${address}:${port}/`).then(
        async (page) => {
          await page.text()
          return page.status
        },
        () => undefined,
      )
    const hasV6 = Object.values(networkInterfaces()).some((list) =>
      list?.some(({ address }) => address === '::1'),
    )
    expect([await status('127.0.0.1'), await status('[::1]')]).toEqual([404, hasV6 ? 404 : undefined])
    expect(open.size).toBe(1)
    await own.close()
    expect(open.size).toBe(0)
    expect([await status('127.0.0.1'), await status('[::1]')]).toEqual([undefined, undefined])
  })

  it('takes the port it is told, or the one it likes, or another', async () => {
    callback = await listenForCallback({ host: systemHost(), server: 's', state: 'right' })
    const port = Number(new URL(callback.redirectUri).port)
    const more = { host: systemHost(), server: 's', state: 'right' }
    await expect(listenForCallback({ ...more, port })).rejects.toMatchObject({
      refusal: 'callback-port-busy',
      message: expect.stringContaining(`port ${port}`),
    })
    const other = await listenForCallback({ ...more, preferredPort: port })
    expect(Number(new URL(other.redirectUri).port)).not.toBe(port)
    await other.close()
    await callback.close()
    callback = await listenForCallback({ ...more, preferredPort: port })
    expect(Number(new URL(callback.redirectUri).port)).toBe(port)
  })

  const hasV6 = Object.values(networkInterfaces()).some((all) =>
    all?.some(({ address }) => address === '::1'),
  )
  it.runIf(hasV6)('takes no port that another program has at either address of `localhost`', async () => {
    const taken = createServer()
    await new Promise<void>((done) => taken.listen(0, '::1', done))
    const { port } = taken.address() as AddressInfo
    const more = { host: systemHost(), server: 's', state: 'right' }
    await expect(listenForCallback({ ...more, port })).rejects.toMatchObject({
      refusal: 'callback-port-busy',
    })
    callback = await listenForCallback({ ...more, preferredPort: port })
    expect(Number(new URL(callback.redirectUri).port)).not.toBe(port)
    // What was opened at the other address meanwhile is closed again.
    const free = createServer()
    await new Promise<void>((done, fail) => free.once('error', fail).listen(port, '127.0.0.1', done))
    for (const server of [taken, free]) server.close()
  })

  it('ends when the user takes too long', async () => {
    let late: () => void = () => undefined
    const host = systemHost({
      awaitedTimer: (_ms, run) => {
        late = run
        return () => undefined
      },
    })
    callback = await listenForCallback({ host, server: 's', state: 'right' })
    late()
    await expect(callback.answer).rejects.toMatchObject({
      code: 'TIMEOUT',
      hint: expect.stringContaining('login'),
    })
  })
})
