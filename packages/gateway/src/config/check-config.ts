// check-config.ts: what the schema of gateway.json cannot say: addresses that are safe to use, patterns that can be read, and
// keys that need each other. Pure.
import { InvalidInput } from '@plugboard/core/errors'
import { readExposure } from '../access/exposure.ts'
import { headerFault } from './header-templates.ts'
import type { GatewayConfig } from './schema.ts'

/** A fault before its line is known. */
export interface FoundFault {
  readonly path: readonly (string | number)[]
  readonly message: string
  readonly hint?: string | undefined
}

export function checkMeaning(config: GatewayConfig): FoundFault[] {
  return [
    ...publicUrlFaults(config),
    ...issuerFaults(config),
    ...roleFaults(config),
    ...storeFaults(config),
    ...limitFaults(config),
    ...userLoginFaults(config),
  ]
}

function publicUrlFaults({ publicUrl }: GatewayConfig): FoundFault[] {
  if (publicUrl === undefined) return []
  const { protocol, search, hash, username } = new URL(publicUrl)
  if (protocol !== 'https:' && protocol !== 'http:')
    return [{ path: ['publicUrl'], message: 'is not an http or https address' }]
  return search || hash || username
    ? [
        {
          path: ['publicUrl'],
          message: 'has a query, a fragment or a user name',
          hint: 'Write only the scheme, the host, the port and a path.',
        },
      ]
    : []
}

function issuerFaults({ auth, publicUrl }: GatewayConfig): FoundFault[] {
  const issuers = auth?.issuers ?? []
  const faults: FoundFault[] = []
  if (issuers.length > 0 && publicUrl === undefined)
    faults.push({
      path: ['auth', 'issuers'],
      message: 'needs "publicUrl"',
      hint: 'Write the address that clients use, as in "publicUrl": "https://mcp.example.com". OAuth metadata name it, and tokens are made for it.',
    })
  for (const [at, { issuer, jwksUri }] of issuers.entries()) {
    for (const [key, address] of [
      ['issuer', issuer],
      ['jwksUri', jwksUri],
    ] as const)
      if (address !== undefined && !isSafe(address))
        faults.push({
          path: ['auth', 'issuers', at, key],
          message: 'is not an https address',
          hint: 'Keys that come over plain http can be replaced on the way; http is accepted on loopback only.',
        })
    if (issuers.findIndex((other) => other.issuer === issuer) < at)
      faults.push({ path: ['auth', 'issuers', at, 'issuer'], message: 'is listed twice' })
  }
  return faults
}

function limitFaults({ limits, roles = {} }: GatewayConfig): FoundFault[] {
  const unknown = Object.keys(limits?.roles ?? {}).filter((role) => !Object.hasOwn(roles, role))
  const patterns = Object.keys(limits?.tools ?? {}).flatMap((pattern) => {
    const fault = patternFault(pattern)
    return fault ? [{ path: ['limits', 'tools', pattern], ...fault }] : []
  })
  return [
    ...unknown.map((role) => ({
      path: ['limits', 'roles', role],
      message: 'is not a role of this file',
      hint: `Its roles: ${Object.keys(roles).join(', ') || 'none'}.`,
    })),
    ...patterns,
  ]
}

function userLoginFaults({ userLogins, publicUrl, store, auth }: GatewayConfig): FoundFault[] {
  if (!userLogins) return []
  const faults: FoundFault[] = []
  const add = (path: readonly (string | number)[], message: string, hint?: string) =>
    faults.push({ path: ['userLogins', ...path], message, hint })
  const { key, servers, verify = [] } = userLogins
  if (publicUrl === undefined)
    add(
      [],
      'needs "publicUrl"',
      'Browsers come back to it after a login, as in https://mcp.example.com/logins/callback.',
    )
  else if (!isSafe(publicUrl))
    add(
      [],
      'needs an https address in "publicUrl"',
      'Logins over plain http can be read on the way; http is accepted on loopback only.',
    )
  const ways = Object.keys(key ?? {}).length
  if (key && ways !== 1)
    add(
      ['key'],
      ways === 0 ? 'names no key' : 'names several keys',
      'Write one of "file", "command" and "keychain".',
    )
  if (store !== undefined && !key)
    add(
      [],
      'needs "key" when there is a "store"',
      'All replicas open what one of them sealed, so all are given the same key.',
    )
  const isKnown = (issuer: string) => (auth?.issuers ?? []).some((one) => one.issuer === issuer)
  for (const [at, { issuer }] of verify.entries())
    if (!isKnown(issuer)) add(['verify', at, 'issuer'], 'is not one of "auth.issuers"')
  for (const [server, { headers = {}, exchange, login }] of Object.entries(servers)) {
    for (const [name, template] of Object.entries(headers)) {
      const fault = headerFault(name, template)
      if (fault) add(['servers', server, 'headers', name], fault)
    }
    if (exchange && !isKnown(exchange.issuer))
      add(['servers', server, 'exchange', 'issuer'], 'is not one of "auth.issuers"')
    if (exchange && login === false)
      add(['servers', server, 'login'], 'is false, and there is "exchange"', 'Leave one of them out.')
  }
  return faults
}

function storeFaults({ store, audit }: GatewayConfig): FoundFault[] {
  if (audit?.stream && store === undefined)
    return [
      {
        path: ['audit', 'stream'],
        message: 'needs "store"',
        hint: 'Write "store": "redis://host:6379". One process alone has its file: `plugboard audit`.',
      },
    ]
  if (store === undefined || /^rediss?:\/\/./.test(store) || store.startsWith('${')) return []
  return [
    {
      path: ['store'],
      message: 'is not an address of a store',
      hint: 'Write redis://host:6379, or rediss:// for TLS; Valkey has the same.',
    },
  ]
}

function roleFaults({ roles = {} }: GatewayConfig): FoundFault[] {
  return Object.entries(roles).flatMap(([name, role]) =>
    (['expose', 'deny'] as const).flatMap((key) =>
      (role[key] ?? []).flatMap((pattern, at) => {
        const fault = patternFault(pattern)
        return fault ? [{ path: ['roles', name, key, at], ...fault }] : []
      }),
    ),
  )
}

function patternFault(
  pattern: string,
): { readonly message: string; readonly hint?: string | undefined } | undefined {
  try {
    readExposure([pattern])
    return undefined
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    return { message: 'is not a pattern', hint: error.shellHint }
  }
}

/** Https, or http to this machine. */
export function isSafe(address: string): boolean {
  const { protocol, hostname } = new URL(address)
  if (protocol === 'https:') return true
  return (
    protocol === 'http:' &&
    (/^127(?:\.\d{1,3}){3}$/.test(hostname) || ['localhost', '[::1]'].includes(hostname))
  )
}
