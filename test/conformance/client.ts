// The client that the official conformance suite drives: the auth room behind the SDK's transport. It is told the
// scenario by the environment and the server by its last argument, and does what a program with a person beside it
// would do: connect, log in when asked, try again, at most three times.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  type AuthContext,
  type AuthSettings,
  authFor,
  causedBy,
  login,
  memoryVault,
  type RemoteServer,
} from '@plugboard/core/auth'
import { AuthRequired } from '@plugboard/core/errors'
import { systemHost } from '@plugboard/core/host'

const MAX_LOGINS = 3
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const version = process.env.MCP_CONFORMANCE_PROTOCOL_VERSION ?? '2025-11-25'
const given = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}') as Readonly<Record<string, string>>
const url = process.argv.at(-1) ?? ''
const stateDir = mkdtempSync(join(tmpdir(), 'plugboard-conformance-'))

const xaa = scenario === 'auth/enterprise-managed-authorization'
const interactive = !/client-credentials|wif-/.test(scenario)
const server: RemoteServer = {
  name: 'suite',
  scope: 'user',
  source: 'conformance',
  signature: url,
  entry: {
    type: 'http',
    url,
    headers: {},
    oauth: {
      ...(interactive && given.client_id && { clientId: given.client_id }),
      ...(xaa && { xaa: true }),
    },
  },
}

function settings(): AuthSettings {
  if (xaa) return { xaa: { issuer: given.idp_issuer ?? '', clientId: given.idp_client_id ?? '' } }
  if (interactive) return { clientMetadataUrl: 'https://conformance-test.local/client-metadata.json' }
  const { client_id: clientId = '', client_secret, private_key_pem, signing_algorithm, valid_jwt } = given
  return {
    machines: {
      suite: {
        clientId,
        ...(client_secret && { clientSecret: client_secret }),
        ...(private_key_pem && { privateKey: private_key_pem }),
        ...(signing_algorithm && { alg: signing_algorithm }),
        ...(valid_jwt && { assertion: valid_jwt }),
      },
    },
  }
}

const context: AuthContext = {
  host: systemHost({
    env: { ...process.env, ...(given.client_secret && { MCP_CLIENT_SECRET: given.client_secret }) },
  }),
  stateDir,
  vault: memoryVault(),
  settings: settings(),
}

/** The suite brings the person's login at the identity provider along. */
async function enterIdpSession(): Promise<void> {
  const {
    idp_issuer: issuer = '',
    idp_client_id: clientId = '',
    idp_id_token: idToken,
    idp_token_endpoint,
  } = given
  const session = {
    version: 1,
    as: { issuer, token_endpoint: idp_token_endpoint },
    idToken,
    idTokenEndsAt: Date.now() + 3_600_000,
  }
  await context.vault.set(JSON.stringify(['idp', issuer, clientId]), JSON.stringify(session))
}

async function logIn(): Promise<void> {
  let show: (address: string) => void = () => undefined
  const shown = new Promise<string>((done) => {
    show = done
  })
  await login(server, context, {
    openBrowser: false,
    onUrl: show,
    readPasted: async () => {
      const response = await fetch(await shown, { redirect: 'manual' })
      return response.headers.get('location') ?? ''
    },
  })
}

async function session(): Promise<void> {
  const auth = authFor(server, context)
  if (!auth) throw new Error('an http server has an auth')
  const modern = version >= '2026'
  const client = new Client(
    { name: 'plugboard-conformance', version: '1.0.0' },
    { versionNegotiation: { mode: modern ? 'auto' : 'legacy' } },
  )
  let logins = 0
  const patiently = async <T>(work: () => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        if (!(causedBy(error) instanceof AuthRequired) || logins++ >= MAX_LOGINS) throw error
        await logIn()
      }
    }
  }
  await patiently(() =>
    client.connect(new StreamableHTTPClientTransport(new URL(url), { fetch: auth.fetch(fetch) })),
  )
  const { tools } = await patiently(() => client.listTools())
  const [tool] = tools
  if (tool) await patiently(() => client.callTool({ name: tool.name, arguments: {} }))
  await client.close()
}

try {
  if (xaa) await enterIdpSession()
  await session()
} catch (error) {
  const known = causedBy(error)
  console.error(known ? JSON.stringify(known) : error)
  process.exitCode = 1
} finally {
  rmSync(stateDir, { recursive: true, force: true })
}
