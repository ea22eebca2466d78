import { connect } from 'node:net'
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
})
