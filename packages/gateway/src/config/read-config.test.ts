// gateway.json: what is accepted, and what is said about a file with faults.
import { Ajv } from 'ajv'
import { describe, expect, it } from 'vitest'
import { faultText, readGatewayConfig } from './read-config.ts'
import { gatewayJsonSchema } from './schema.ts'

const faults = (value: unknown) => {
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2)
  const reading = readGatewayConfig(text, 'gateway.json')
  return reading.ok ? [] : reading.faults.map((fault) => faultText('gateway.json', fault))
}

const WHOLE = {
  $schema: 'x',
  publicUrl: 'https://mcp.example.com',
  auth: {
    tokens: 'tokens.json',
    issuers: [{ issuer: 'https://idp.example.com', groupsClaim: 'groups', scopes: ['mcp'] }],
  },
  limits: {
    user: { perMinute: 60, burst: 10 },
    roles: { dev: { perDay: 1000 } },
    tools: { 'github.*': { concurrent: 2 } },
  },
  accessLog: 'stderr',
  tls: { cert: 'cert.pem', key: 'key.pem' },
  isolation: { servers: { memory: 'user' }, idleMinutes: 5 },
  admin: { port: 7338, token: 'admin-token' },
  store: 'redis://:${PASSWORD}@valkey:6379',
  roles: { dev: { groups: ['eng'], expose: ['github', 'docs.get_*'], deny: ['github.delete_*'] } },
}

describe('gateway.json', () => {
  it('is accepted with every key, with comments, and empty', () => {
    expect(faults(WHOLE)).toEqual([])
    expect(faults('{ // who\n "roles": {}, }')).toEqual([])
    expect(faults('')).toEqual([])
  })

  it.for([
    [{ rolls: {} }, ['"rolls" is not a key of gateway.json. Did you mean "roles"?']],
    [
      { auth: { token: 'x' } },
      ['gateway.json:3: "auth.token" is not a key of gateway.json. Did you mean "tokens"?'],
    ],
    [{ roles: { dev: { exposes: [] } } }, ['"roles.dev.exposes"', 'Did you mean "expose"?']],
    [
      { publicUrl: 'https://a.example', auth: { issuers: [{ issuer: 'https://x.example', audiense: 'y' }] } },
      ['"auth.issuers[0].audiense"', 'Did you mean "audience"?'],
    ],
    [
      { banana: 1 },
      ['Known here: $schema, publicUrl, auth, roles, store, limits, accessLog, audit, admin, isolation, tls'],
    ],
    [{ roles: { 'a b': {} } }, ['"roles.a b" is not a name for a role']],
    [
      { roles: { dev: { expose: ['a/b'] } } },
      ['"roles.dev.expose[0]" is not a pattern', 'Did you mean "a.b"?'],
    ],
    [{ publicUrl: 'mcp.example.com' }, ['"publicUrl" expected a URL']],
    [{ publicUrl: 'ftp://mcp.example.com' }, ['"publicUrl" is not an http or https address']],
    [{ publicUrl: 'https://a.example/?x=1' }, ['has a query']],
    [{ auth: { issuers: [{ issuer: 'https://x.example' }] } }, ['"auth.issuers" needs "publicUrl"']],
    [
      { publicUrl: 'https://a.example', auth: { issuers: [{ issuer: 'http://x.example' }] } },
      ['"auth.issuers[0].issuer" is not an https address'],
    ],
    [
      {
        publicUrl: 'https://a.example',
        auth: { issuers: [{ issuer: 'https://x.example' }, { issuer: 'https://x.example' }] },
      },
      ['"auth.issuers[1].issuer" is listed twice'],
    ],
    [
      { isolation: { servers: { memory: 'own' } } },
      ['"isolation.servers.memory" expected "shared", "user" or "session"'],
    ],
    [{ limits: { roles: { dev: {} } } }, ['"limits.roles.dev" is not a role of this file']],
    [{ limits: { tools: { 'a/b': {} } } }, ['"limits.tools.a/b" is not a pattern']],
    [{ limits: { user: { perMinute: 0 } } }, ['"limits.user.perMinute" is below 1']],
    [{ limits: { user: { perHour: 1 } } }, ['"limits.user.perHour"', 'perMinute']],
    [{ store: 'postgres://x' }, ['"store" is not an address of a store']],
    ['{ "roles": ', ['gateway.json:1:']],
    ['[]', ['expected an object']],
  ] as const)('%j is refused with the place and the next step', ([value, wanted]) => {
    const said = faults(value).join('\n')
    for (const part of wanted) expect(said).toContain(part)
  })

  it('has a JSON Schema that an editor can use', () => {
    const fits = new Ajv({ strict: false, validateFormats: false }).compile(gatewayJsonSchema())
    expect(fits(WHOLE)).toBe(true)
    expect(fits({ rolls: {} })).toBe(false)
    expect(fits({ auth: { issuers: [{}] } })).toBe(false)
  })
})
