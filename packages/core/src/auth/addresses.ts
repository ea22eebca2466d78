// addresses.ts: which part of the network an IP address belongs to, and whether an auth request may go there.
// Pure; guard.ts asks it before and while connecting.
import { isIPv4, isIPv6 } from 'node:net'

export type Zone = 'public' | 'loopback' | 'private' | 'link-local' | 'reserved'

const V4: readonly (readonly [cidr: string, zone: Zone])[] = [
  ['0.0.0.0/8', 'reserved'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'private'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'reserved'],
  ['192.168.0.0/16', 'private'],
  ['198.18.0.0/15', 'reserved'],
  ['198.51.100.0/24', 'reserved'],
  ['203.0.113.0/24', 'reserved'],
  ['224.0.0.0/4', 'reserved'],
  ['240.0.0.0/4', 'reserved'],
]

/** The zone of a literal address; `undefined` when it is not an address. */
export function zoneOf(address: string): Zone | undefined {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  if (isIPv4(bare)) return zoneOfV4(v4Number(bare))
  if (isIPv6(bare)) return zoneOfV6(v6Groups(bare))
  return undefined
}

function v4Number(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
}

function zoneOfV4(value: number): Zone {
  for (const [cidr, zone] of V4) {
    const [base = '', bits = '32'] = cidr.split('/')
    const size = 2 ** (32 - Number(bits))
    const start = v4Number(base)
    if (value >= start && value < start + size) return zone
  }
  return 'public'
}

/** The eight 16-bit groups of an address that `isIPv6` has accepted. */
function v6Groups(address: string): readonly number[] {
  const dotted = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(address)
  let text = address
  if (dotted) {
    const value = v4Number(dotted[2] ?? '')
    text = `${dotted[1]}${Math.floor(value / 65536).toString(16)}:${(value % 65536).toString(16)}`
  }
  const [head = '', tail] = text.split('::')
  const groups = (part: string) =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16))
  const before = groups(head)
  if (tail === undefined) return before
  const after = groups(tail)
  return [...before, ...new Array<number>(8 - before.length - after.length).fill(0), ...after]
}

function zoneOfV6(groups: readonly number[]): Zone {
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = groups
  const embedded = (high: number, low: number) => zoneOfV4(high * 65536 + low)
  const zeroTo = (index: number) => groups.slice(0, index).every((group) => group === 0)
  if (zeroTo(8)) return 'reserved'
  if (zeroTo(7) && h === 1) return 'loopback'
  // Addresses that carry an IPv4 address inside go where that one goes: mapped, compatible, NAT64, 6to4.
  if (zeroTo(5) && (f === 0xffff || f === 0)) return embedded(g, h)
  if (a === 0x64 && b === 0xff9b) return embedded(g, h)
  if (a === 0x2002) return embedded(b, c)
  if ((a & 0xffc0) === 0xfe80) return 'link-local'
  if ((a & 0xfe00) === 0xfc00 || (a & 0xffc0) === 0xfec0) return 'private'
  if ((a & 0xff00) === 0xff00 || (a === 0x2001 && b === 0xdb8)) return 'reserved'
  if (a === 0x100 && b === 0 && c === 0 && d === 0 && e >= 0) return 'reserved'
  return 'public'
}

/** Names that mean this machine, whatever DNS says. */
export function isLoopbackName(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, '')
  return name === 'localhost' || name.endsWith('.localhost') || zoneOf(name) === 'loopback'
}

/**
 * May an auth request of a server that lives in `home` go to an address in `zone`? Public addresses always; the
 * inside of the network only for a server that is there itself. Link-local addresses are where clouds keep their
 * credentials, so living there is not enough.
 */
export function mayReach(zone: Zone, home: ReadonlySet<Zone>): boolean {
  return zone === 'public' || ((zone === 'loopback' || zone === 'private') && home.has(zone))
}
