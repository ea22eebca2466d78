// The user at the other end of a loopback connection: rows of the kernel's tables, and a real connection on Linux.
import { connect, createServer, type Socket } from 'node:net'
import { expect, it } from 'vitest'
import { isLoopbackAddress, ownerOf, peerUser } from './peer-user.ts'

const V4 = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1CA3 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0
   1: 0100007F:D2F0 0100007F:1CA3 01 00000000:00000000 00:00000000 00000000  1234        0 22 1 0
   2: 0100007F:D2F1 0100007F:1CA3 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0
   3: 0100007F:1CA3 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000  1000        0 33 1 0`
const V6 = `  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0000000000000000FFFF00000100007F:D2F2 0000000000000000FFFF00000100007F:1CA3 01 00000000:00000000 00:00000000 00000000  77        0 44 1 0
   1: 00000000000000000000000001000000:D2F3 00000000000000000000000001000000:1CA3 01 00000000:00000000 00:00000000 00000000  78        0 55 1 0`
const PORT = 0x1ca3

/** The rows above are those of a little-endian machine. */
const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1

it.skipIf(!isLittleEndian).each([
  ['IPv4', '127.0.0.1', 0xd2f0, '127.0.0.1', 1234],
  ['IPv4, on a server that listens on ::', '::ffff:127.0.0.1', 0xd2f0, '::ffff:127.0.0.1', 1234],
  ['an IPv6 socket that talks IPv4', '127.0.0.1', 0xd2f2, '127.0.0.1', 77],
  ['IPv6', '::1', 0xd2f3, '::1', 78],
  ['a socket no process has any more, shown as root', '127.0.0.1', 0xd2f1, '127.0.0.1', undefined],
  ['a port that is not there', '127.0.0.1', 0xd2ff, '127.0.0.1', undefined],
  ['another address', '127.0.0.2', 0xd2f0, '127.0.0.1', undefined],
])('%s', (_, theirs, port, ours, expected) => {
  const found = ownerOf(`${V4}\n${V6}`, { address: theirs, port }, { address: ours, port: PORT })
  expect(found).toBe(expected)
})

it('recognises loopback addresses', () => {
  for (const address of ['127.0.0.1', '127.9.9.9', '::1', '::ffff:127.0.0.1'])
    expect(isLoopbackAddress(address), address).toBe(true)
  for (const address of ['10.0.0.1', '::', 'fe80::1', '1127.0.0.1', '127.0.0.1.example', undefined])
    expect(isLoopbackAddress(address), String(address)).toBe(false)
})

it.skipIf(process.platform !== 'linux')('finds the user of a real connection', async () => {
  const server = createServer()
  const arrived = new Promise<Socket>((done) => server.once('connection', done))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const client = connect((server.address() as { port: number }).port, '127.0.0.1')
  const socket = await arrived
  expect(await peerUser(socket)).toBe(process.geteuid?.())
  client.destroy()
  socket.destroy()
  server.close()
})
