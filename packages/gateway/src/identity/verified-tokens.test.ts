import { afterAll, beforeAll, expect, it } from 'vitest'
import { type IdentityProvider, startIdentityProvider } from '../../../../test/support/identity-provider.ts'
import { VerifiedTokens } from './verified-tokens.ts'

let idp: IdentityProvider
beforeAll(async () => {
  idp = await startIdentityProvider('https://old.example/mcp')
})
afterAll(() => idp.close())

it('are for the address that the configuration has now', async () => {
  const tokens = new VerifiedTokens()
  const auth = { issuers: [{ issuer: idp.issuer }] }
  const token = await idp.token()
  tokens.configure({ publicUrl: 'https://old.example', auth })
  expect(await tokens.verify(token, Date.now())).toMatchObject({ subject: 'ada' })
  const fetches = idp.fetches()
  tokens.configure({ publicUrl: 'https://old.example', auth })
  expect(await tokens.verify(token, Date.now())).toMatchObject({ subject: 'ada' })
  // An issuer that did not change keeps its keys.
  expect(idp.fetches()).toBe(fetches)
  tokens.configure({ publicUrl: 'https://new.example', auth })
  expect(await tokens.verify(token, Date.now())).toMatchObject({ kind: 'invalid' })
})
