// ip-ranges.ts: which network zone an IP address belongs to, and whether an auth request may go there. Pure;
// guarded-fetch.ts calls it before and while connecting.
import { isIPv4, isIPv6 } from 'node:net'

export type Zone = 'public' | 'loopback' | 'private' | 'link-local' | 'reserved'

/** IANA's registry of special-purpose IPv4 addresses, multicast and the reserved rest. */
const V4: readonly (readonly [cidr: string, zone: Zone])[] = [
  ['0.0.0.0/8', 'reserved'],
  ['10.0.0.0/8', 'private'],
  ['100.64.0.0/10', 'private'],
  ['127.0.0.0/8', 'loopback'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  // Anycast addresses for PCP and TURN are reachable everywhere, and no server lives at them.
  ['192.0.0.0/24', 'reserved'],
  ['192.0.2.0/24', 'reserved'],
  ['192.31.196.0/24', 'reserved'],
  ['192.52.193.0/24', 'reserved'],
  ['192.88.99.0/24', 'reserved'],
  ['192.168.0.0/16', 'private'],
  ['192.175.48.0/24', 'reserved'],
  ['198.18.0.0/15', 'reserved'],
  ['198.51.100.0/24', 'reserved'],
  ['203.0.113.0/24', 'reserved'],
  ['224.0.0.0/4', 'reserved'],
  ['240.0.0.0/4', 'reserved'],
]

/** IANA's registry of special-purpose IPv6 addresses, by prefix; addresses with an IPv4 address inside come first. */
const V6: readonly (readonly [prefix: readonly number[], bits: number, zone: Zone])[] = [
  [[0x0100, 0, 0, 0], 64, 'reserved'],
  [[0x0100, 0, 0, 1], 64, 'reserved'],
  // IETF protocol assignments: Teredo, benchmarking, ORCHID, AS112, drone ids.
  [[0x2001, 0x0000], 23, 'reserved'],
  [[0x2001, 0x0db8], 32, 'reserved'],
  [[0x2620, 0x004f, 0x8000], 48, 'reserved'],
  [[0x3ffe], 16, 'reserved'],
  [[0x3fff, 0x0000], 20, 'reserved'],
  [[0x5f00], 16, 'reserved'],
  [[0xfc00], 7, 'private'],
  [[0xfe80], 10, 'link-local'],
  [[0xfec0], 10, 'private'],
  [[0xff00], 8, 'reserved'],
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
  if (zeroTo(7) && h === 1) return 'loopback'
  // Addresses that embed an IPv4 address are in that address's zone: mapped, compatible, translated (SIIT), NAT64 by
  // its well-known prefix, 6to4.
  if (zeroTo(5) && (f === 0xffff || f === 0)) return embedded(g, h)
  if (zeroTo(4) && e === 0xffff && f === 0) return embedded(g, h)
  if (a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0) return embedded(g, h)
  // NAT64 with a local prefix (RFC 8215): where the embedded address is depends on that network.
  if (a === 0x64 && b === 0xff9b && c === 1) return 'private'
  if (a === 0x2002) return embedded(b, c)
  const special = V6.find(([prefix, bits]) => startsWith(groups, prefix, bits))
  if (special) return special[2]
  // Global unicast is 2000::/3. IANA has assigned nothing else, so nothing public is there.
  return (a & 0xe000) === 0x2000 ? 'public' : 'reserved'
}

function startsWith(groups: readonly number[], prefix: readonly number[], bits: number): boolean {
  return prefix.every((group, at) => {
    const left = Math.min(16, Math.max(0, bits - 16 * at))
    const mask = (0xffff << (16 - left)) & 0xffff
    return ((groups[at] ?? 0) & mask) === (group & mask)
  })
}

/** Names that mean this machine, whatever DNS says. */
export function isLoopbackName(hostname: string): boolean {
  const name = hostname.toLowerCase().replace(/\.$/, '')
  return name === 'localhost' || name.endsWith('.localhost') || zoneOf(name) === 'loopback'
}

/**
 * May an auth request of a server in zone `home` go to an address in `zone`? Public addresses always; internal ones
 * only for a server that is internal itself. Link-local is never enough: clouds serve their credentials there.
 */
export function mayReach(zone: Zone, home: ReadonlySet<Zone>): boolean {
  return zone === 'public' || ((zone === 'loopback' || zone === 'private') && home.has(zone))
}
