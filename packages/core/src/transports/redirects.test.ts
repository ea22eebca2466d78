import { describe, expect, it } from 'vitest'
import { redirectTarget } from './redirects.ts'

const followed = (from: string, method: string, status: number, location?: string) =>
  redirectTarget(new URL(from), method, { status, header: () => location })?.href

describe('a redirect', () => {
  it('within the origin is followed when it keeps the method', () => {
    const at = 'http://one.example:8080/mcp'
    for (const status of [307, 308])
      expect(followed(at, 'POST', status, '/moved?x=1')).toBe('http://one.example:8080/moved?x=1')
    for (const status of [301, 302, 303]) {
      expect(followed(at, 'POST', status, '/moved')).toBeUndefined()
      expect(followed(at, 'GET', status, '/moved')).toBe('http://one.example:8080/moved')
    }
  })

  it('to another host, port or scheme is not', () => {
    const at = 'https://one.example/mcp'
    for (const to of [
      'https://two.example/mcp',
      'https://one.example:8443/mcp',
      'http://one.example/mcp',
      '//two.example/mcp',
      'https://user:secret@one.example/mcp',
      'http://',
    ])
      expect(followed(at, 'GET', 307, to)).toBeUndefined()
  })

  it('to the https form of the same host is, with both on the default port', () => {
    expect(followed('http://one.example/mcp', 'POST', 308, 'https://one.example/mcp')).toBe(
      'https://one.example/mcp',
    )
    expect(followed('http://one.example:80/mcp', 'POST', 308, 'https://one.example:443/mcp')).toBeDefined()
    expect(
      followed('http://one.example:8080/mcp', 'POST', 308, 'https://one.example:8080/mcp'),
    ).toBeUndefined()
  })

  it('is one of five statuses, with a location', () => {
    for (const status of [200, 300, 304, 306, 400])
      expect(followed('http://a/', 'GET', status, '/b')).toBeUndefined()
    expect(followed('http://a/', 'GET', 307)).toBeUndefined()
  })
})
