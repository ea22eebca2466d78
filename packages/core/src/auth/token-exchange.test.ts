// To which authorization server the user's own token goes, whatever login was kept before.
import { afterEach, beforeEach, expect, it } from 'vitest'
import { AuthRequired } from '../errors.ts'
import { type ScriptedServer, startScriptedServer } from './fixtures/scripted-server.ts'
import { type AuthSetup, authSetup, cleanUp, remote } from './fixtures/setup.ts'
import type { Login } from './stored-logins.ts'
import { renewByTokenExchange } from './token-exchange.ts'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
let named: ScriptedServer
let other: ScriptedServer
let setup: AuthSetup
beforeEach(async () => {
  named = await startScriptedServer()
  other = await startScriptedServer()
  for (const server of [named, other])
    server.answers[EXCHANGE] = () => ({
      access_token: 'theirs',
      token_type: 'bearer',
      issued_token_type: 'x',
    })
  setup = authSetup()
})
afterEach(async () => {
  cleanUp(setup)
  await Promise.all([named.close(), other.close()])
})

const loginAt = (as: ScriptedServer, grant: Login['grant']) =>
  ({ grant, as: { ...as.metadata, issuer: as.origin }, generation: 4 }) as unknown as Login

it.each<[string, () => Login | undefined]>([
  ['no login', () => undefined],
  ['an exchange at the same server', () => loginAt(named, 'token_exchange')],
  ['an exchange at the server of an earlier setting', () => loginAt(other, 'token_exchange')],
  ['a login that the server itself led to', () => loginAt(other, 'authorization_code')],
])('the token goes to the named issuer after %s', async (_, login) => {
  const exchange = {
    issuer: named.origin,
    clientId: 'gateway',
    clientSecret: 's',
    subjectToken: () => 'mine',
  }
  const server = remote('x', `${other.origin}/mcp`)
  const outcome = await renewByTokenExchange(server, setup.context, exchange, login())
  expect(outcome).toMatchObject({ kind: 'renewed', login: { as: { issuer: named.origin } } })
  expect(named.asked.map(({ params }) => params.get('subject_token'))).toEqual(['mine'])
  expect(other.asked).toEqual([])
})

it.each<[string, number, Record<string, unknown>, object]>([
  ['a refusal', 400, { error: 'invalid_grant' }, { kind: 'failed', failure: 'grant-dead' }],
  ['trouble', 503, {}, { kind: 'failed', failure: 'temporary' }],
])('%s of the issuer is no token', async (_, status, body, outcome) => {
  named.answers[EXCHANGE] = () => ({ status, body })
  const exchange = { issuer: named.origin, clientId: 'gateway', subjectToken: () => 'mine' }
  const server = remote('x', `${other.origin}/mcp`)
  expect(await renewByTokenExchange(server, setup.context, exchange, undefined)).toMatchObject(outcome)
})

it("takes no token of the user's own back, and needs one to begin with", async () => {
  named.answers[EXCHANGE] = () => ({ access_token: 'mine', token_type: 'bearer', issued_token_type: 'x' })
  const exchange = { issuer: named.origin, clientId: 'gateway', subjectToken: () => 'mine' }
  const server = remote('x', `${other.origin}/mcp`)
  await expect(renewByTokenExchange(server, setup.context, exchange, undefined)).rejects.toMatchObject({
    refusal: 'bad-response',
  })
  const none = { ...exchange, subjectToken: () => undefined }
  await expect(renewByTokenExchange(server, setup.context, none, undefined)).rejects.toThrow(AuthRequired)
  expect(named.asked).toHaveLength(1)
})
