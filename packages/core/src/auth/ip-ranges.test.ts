import { describe, expect, it } from 'vitest'
import { isLoopbackName, mayReach, zoneOf } from './ip-ranges.ts'

describe('zones of addresses', () => {
  it.each([
    ['93.184.216.34', 'public'],
    ['127.0.0.1', 'loopback'],
    ['127.255.255.254', 'loopback'],
    ['0.0.0.0', 'reserved'],
    ['10.1.2.3', 'private'],
    ['172.15.255.255', 'public'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['172.32.0.1', 'public'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'private'],
    ['100.100.100.200', 'private'],
    ['169.254.169.254', 'link-local'],
    ['224.0.0.1', 'reserved'],
    ['255.255.255.255', 'reserved'],
    ['::1', 'loopback'],
    ['[::1]', 'loopback'],
    ['::', 'reserved'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['::ffff:7f00:1', 'loopback'],
    ['::ffff:169.254.169.254', 'link-local'],
    ['64:ff9b::a9fe:a9fe', 'link-local'],
    ['2002:a9fe:a9fe::1', 'link-local'],
    ['fe80::1%eth0', 'link-local'],
    ['fd00:ec2::254', 'private'],
    ['ff02::1', 'reserved'],
    ['2606:4700::1111', 'public'],
    ['2a00:1450:4001::1', 'public'],
    // Translated (SIIT), in its spellings.
    ['::ffff:0:127.0.0.1', 'loopback'],
    ['::ffff:0:7f00:1', 'loopback'],
    ['0:0:0:0:ffff:0:a9fe:a9fe', 'link-local'],
    ['::FFFF:0:10.0.0.1', 'private'],
    ['::ffff:0:93.184.216.34', 'public'],
    ['::127.0.0.1', 'loopback'],
    ['64:ff9b::127.0.0.1', 'loopback'],
    ['64:FF9B:0:0:0:0:0a00:0001', 'private'],
    ['64:ff9b::8.8.8.8', 'public'],
    ['64:ff9b:1::808:808', 'private'],
    ['64:ff9b:0:1::1', 'reserved'],
    ['2001::1', 'reserved'],
    ['2001:0:7f00:1::', 'reserved'],
    ['2001:2::1', 'reserved'],
    ['2001:10::1', 'reserved'],
    ['2001:20::1', 'reserved'],
    ['2001:1ff:ffff::1', 'reserved'],
    ['2001:200::1', 'public'],
    ['2001:db8::1', 'reserved'],
    ['2001:4860:4860::8888', 'public'],
    ['2620:4f:8000::1', 'reserved'],
    ['3ffe::1', 'reserved'],
    ['3fff::1', 'reserved'],
    ['3fff:fff::1', 'reserved'],
    ['3fff:1000::1', 'public'],
    ['5f00::1', 'reserved'],
    ['100::1', 'reserved'],
    ['100:0:0:1::1', 'reserved'],
    ['fec0::1', 'private'],
    ['febf::1', 'link-local'],
    ['4000::1', 'reserved'],
    ['8000::1', 'reserved'],
    ['e000::1', 'reserved'],
    ['::2:0:0:0', 'reserved'],
    ['192.88.99.1', 'reserved'],
    ['192.31.196.1', 'reserved'],
    ['192.52.193.1', 'reserved'],
    ['192.175.48.1', 'reserved'],
    ['example.com', undefined],
    ['1.2.3', undefined],
  ])('%s is %s', (address, zone) => expect(zoneOf(address)).toBe(zone))

  it('knows the names of this machine', () => {
    expect(['localhost', 'LOCALHOST.', 'a.localhost', '127.0.0.9', '[::1]'].every(isLoopbackName)).toBe(true)
    expect(['localhost.evil.com', 'notlocalhost', '10.0.0.1'].some(isLoopbackName)).toBe(false)
  })
})

describe('where an auth request may go', () => {
  it.each([
    ['public', [], true],
    ['loopback', [], false],
    ['loopback', ['public'], false],
    ['loopback', ['loopback'], true],
    ['private', ['loopback'], false],
    ['private', ['private'], true],
    ['link-local', ['link-local'], false],
    ['reserved', ['reserved'], false],
  ] as const)('%s from a server in %j: %s', (zone, home, allowed) =>
    expect(mayReach(zone, new Set(home))).toBe(allowed),
  )
})
