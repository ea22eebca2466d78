// Legacy servers are sent the lowest log level that a client wants; it rises again when that client leaves.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { connect, folder, makeGateway, serve, stdio, until } from '../fixtures/kit.ts'

const SERVER = fileURLToPath(new URL('../../../../test/support/gateway-server.mjs', import.meta.url))

it('sends servers the lowest level a client wants, also after a client has left or wants less', async () => {
  const file = join(folder(), 'levels')
  const gateway = await makeGateway([stdio('one', [SERVER], { FILE: file })])
  await gateway.wake(15_000)
  const { url } = await serve(gateway)
  const [quiet, chatty] = [await connect(url), await connect(url)]
  const levels = () => readFileSync(file, { encoding: 'utf8', flag: 'a+' }).split('\n').filter(Boolean)
  const told = async (...wanted: string[]) => {
    await until(() => levels().length >= wanted.length)
    expect(levels()).toEqual(wanted.map((level) => `level ${level}`))
  }
  await quiet.setLoggingLevel('error')
  await told('error')
  await chatty.setLoggingLevel('debug')
  await told('error', 'debug')
  await (chatty.transport as unknown as { terminateSession(): Promise<void> }).terminateSession()
  await told('error', 'debug', 'error')
  await quiet.setLoggingLevel('warning')
  await told('error', 'debug', 'error', 'warning')
  // A client that just disconnects has left as well, and counts again with its next request.
  const third = await connect(url)
  await third.setLoggingLevel('info')
  await told('error', 'debug', 'error', 'warning', 'info')
  await third.close()
  await told('error', 'debug', 'error', 'warning', 'info', 'warning')
}, 60_000)
