// To which authorization server the user's own token goes, whatever login was kept before.
import { afterEach, beforeEach, expect, it } from 'vitest'
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
