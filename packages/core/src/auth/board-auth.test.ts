import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { loginsFor } from './board-auth.ts'
import { remote } from './fixtures/setup.ts'
import { forgetNeedsAuth } from './needs-auth.ts'

let dir: string
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'plugboard-logins-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const context = (settings: Parameters<typeof loginsFor>[0]['settings'], env: Record<string, string> = {}) =>
  loginsFor({ host: systemHost({ env: { HOME: dir, ...env } }), stateDir: dir, settings }).context

it('takes single sign-on and the client document from the settings', () => {
  const xaa = { issuer: 'https://idp.example', clientId: 'c', callbackPort: undefined, scopes: ['a'] }
  expect(context({ xaa, clientMetadataUrl: 'https://c.example/client.json' }).settings).toEqual({
    xaa: { issuer: 'https://idp.example', clientId: 'c', scopes: ['a'] },
    clientMetadataUrl: 'https://c.example/client.json',
  })
})

it('fetches the secrets that a machine login names, from a file or a variable', () => {
  writeFileSync(join(dir, 'key.json'), '{"kty":"EC"}')
  const machines = {
    byFile: { clientId: 'a', privateKeyFile: '~/key.json', alg: 'ES256' },
    byEnv: { clientId: 'b', privateKeyEnv: 'KEY' },
    bySecret: { clientId: 'c', clientSecretEnv: 'SECRET' },
    missing: { clientId: 'd', clientSecretEnv: 'NOT_SET' },
  }
  const env = { KEY: '-----BEGIN PRIVATE KEY-----', SECRET: 'sesame' }
  expect(context({ machines }, env).settings?.machines).toEqual({
    byFile: { clientId: 'a', alg: 'ES256', privateKey: { kty: 'EC' } },
    byEnv: { clientId: 'b', privateKey: '-----BEGIN PRIVATE KEY-----' },
    bySecret: { clientId: 'c', clientSecret: 'sesame' },
    missing: { clientId: 'd' },
  })
})

it('names the file that cannot be read, and nothing of its content', () => {
  const machines = { m: { clientId: 'a', privateKeyFile: '/nowhere/key.pem' } }
  expect(() => context({ machines })).toThrow(/private key for "m" could not be read \(ENOENT\)/)
})

it('tells which server a login was for', async () => {
  const { context, watch } = loginsFor({ host: systemHost({ env: { HOME: dir } }), stateDir: dir })
  const [mine, other] = [
    remote('mine', 'https://mine.example/mcp'),
    remote('other', 'https://other.example/mcp'),
  ]
  const heard: boolean[][] = []
  const stop = await watch((same) => heard.push([mine, other].map(same)))
  await forgetNeedsAuth(mine, context)
  await expect.poll(() => heard).toEqual([[true, false]])
  stop()
})
