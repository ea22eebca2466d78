// transports/peer-user.ts: which user of this machine is at the other end of a loopback connection, from the kernel's socket tables.
// Linux only; elsewhere, and whenever the tables are ambiguous, the result is "not known".
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'

/** A row may come a moment after the connection does. */
const TRIES = 4
const PAUSE_MS = 15
/** IPv4 clients are in the first table; IPv6 ones, also those that talk IPv4, in the second. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6']

export interface Endpoint {
  readonly address: string
  readonly port: number
}

export function isLoopbackAddress(address: string | undefined): boolean {
  if (address === undefined) return false
  return address === '::1' || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/i.test(address)
}

/** The user id of the process that made this connection; undefined when it came from elsewhere or cannot be known. */
export async function peerUser(socket: Socket): Promise<number | undefined> {
  if (process.platform !== 'linux') return undefined
  const { remoteAddress, remotePort, localAddress, localPort } = socket
  if (!isLoopbackAddress(remoteAddress) || !isLoopbackAddress(localAddress)) return undefined
  if (remoteAddress === undefined || localAddress === undefined) return undefined
  if (remotePort === undefined || localPort === undefined) return undefined
  const theirs = { address: remoteAddress, port: remotePort }
  const ours = { address: localAddress, port: localPort }
  for (let n = 0; n < TRIES && !socket.destroyed; n++) {
    if (n > 0) await new Promise<void>((done) => setTimeout(done, PAUSE_MS))
    const tables = await Promise.all(TABLES.map((table) => readFile(table, 'latin1').catch(() => '')))
    const user = ownerOf(tables.join('\n'), theirs, ours)
    if (user !== undefined) return (await isForeignUser(user)) ? undefined : user
  }
  return undefined
}

/**
 * The owner of the socket that has `local` as its own end and `remote` as the other. A row without an inode is a socket that no
 * process has any more: the kernel shows those as root's, although another user owned them.
 */
export function ownerOf(tables: string, local: Endpoint, remote: Endpoint): number | undefined {
  for (const line of tables.split('\n')) {
    const [slot = '', own = '', other = '', , , , , uid = '', , inode = ''] = line.trim().split(/\s+/)
    if (!/^\d+:$/.test(slot) || !/^\d+$/.test(uid) || !/^[1-9]\d*$/.test(inode)) continue
    if (isEndpoint(own, local) && isEndpoint(other, remote)) return Number(uid)
  }
  return undefined
}

function isEndpoint(written: string, { address, port }: Endpoint): boolean {
  const [hex = '', hexPort = ''] = written.split(':')
  return Number.parseInt(hexPort, 16) === port && addressOf(hex) === plainAddress(address)
}

/** As the kernel writes it: words of four bytes, each in the machine's order. */
function addressOf(hex: string): string | undefined {
  if (!/^(?:[0-9A-F]{8}|[0-9A-F]{32})$/i.test(hex)) return undefined
  const bytes = (hex.match(/.{8}/g) ?? []).flatMap((word) => {
    const four = (word.match(/../g) ?? []).map((byte) => Number.parseInt(byte, 16))
    return isLittleEndian ? four.reverse() : four
  })
  if (bytes.length === 4) return bytes.join('.')
  const isMapped = bytes.slice(0, 10).every((byte) => byte === 0) && bytes[10] === 255 && bytes[11] === 255
  if (isMapped) return bytes.slice(12).join('.')
  // Of IPv6 addresses only loopback is ever looked up.
  return bytes.every((byte, n) => byte === (n === 15 ? 1 : 0)) ? '::1' : undefined
}

const isLittleEndian = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1

const plainAddress = (address: string) => address.replace(/^::ffff:/i, '')

/** In a user namespace, all users from outside are shown as the one overflow user: that one may be any user. */
async function isForeignUser(user: number): Promise<boolean> {
  const [map, overflow] = await Promise.all([
    readFile('/proc/self/uid_map', 'latin1').catch(() => ''),
    readFile('/proc/sys/kernel/overflowuid', 'latin1').catch(() => '65534'),
  ])
  const isWhole = /^\s*0\s+0\s+4294967295\s*$/.test(map)
  return !isWhole && user === Number(overflow)
}
