// The client that the official conformance suite drives: `client.mjs URL`. It is a small program on our public API and
// does with any server what such a program would do: connect, log in when asked, look at everything, use everything.
// Only what no program could guess (which arguments, which credentials) comes from the suite's environment.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AuthRequired, openBoard, systemHost } from '@plugboard/core'
import { authFor, login, memoryVault } from '@plugboard/core/auth'
import { elicit, readElicitation } from '@plugboard/core/interaction'

const SERVER = 'suite'
/** A first login, and one that grants more; who is asked a third time for the same thing gives up. */
const MAX_LOGINS = 2
const url = process.argv.at(-1)
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? ''
const given = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}')
const home = mkdtempSync(join(tmpdir(), 'plugboard-conformance-'))

const isMachine = /client-credentials|wif-/.test(scenario)
const isXaa = scenario === 'auth/enterprise-managed-authorization'

const host = systemHost({
  home,
  env: { ...process.env, ...(given.client_secret && { MCP_CLIENT_SECRET: given.client_secret }) },
})
const auth = { host, stateDir: join(home, 'state'), vault: memoryVault(), settings: authSettings() }

let board
try {
  if (isXaa) await enterIdpSession()
  board = await openBoard({
    cwd: home,
    host,
    stateDir: auth.stateDir,
    config: { servers: { [SERVER]: entry() }, strict: true, withoutBuiltins: true },
    auth: (server) => authFor(server, auth),
    requestHandlers: { elicitForm: answerForm, sampling: answerSampling, roots: () => ({ roots: [] }) },
    clientInfo: { name: 'plugboard-conformance', version: '1.0.0' },
  })
  await useEverything()
} catch (error) {
  console.error(error)
  console.error(`ended with ${error.refusal ?? error.code}`)
  process.exitCode = 1
} finally {
  await board?.close()
  rmSync(home, { recursive: true, force: true })
}

function entry() {
  const clientId = isMachine ? undefined : given.client_id
  return { type: 'http', url, oauth: { ...(clientId && { clientId }), ...(isXaa && { xaa: true }) } }
}

async function useEverything() {
  await patiently(async () => {
    await board.ready()
    const [{ error }] = board.servers()
    if (error) throw error
  })
  for (const { name, arguments: args } of toolCalls())
    await patiently(() => board.request(SERVER, 'tools/call', { name, arguments: args })).catch(bearToolError)
  const connection = board.connection(SERVER)
  const { capabilities } = connection.state.session
  if (capabilities.resources)
    for (const { uri } of await connection.list('resources'))
      await patiently(() => board.request(SERVER, 'resources/read', { uri }))
  if (capabilities.prompts)
    for (const { name, arguments: wanted = [] } of await connection.list('prompts')) {
      const args = Object.fromEntries(wanted.map(({ name }) => [name, 'text']))
      await patiently(() => board.request(SERVER, 'prompts/get', { name, arguments: args }))
    }
}

/** A tool that fails is the model's business; the program goes on. */
function bearToolError(error) {
  if (error.code !== 'TOOL_ERROR') throw error
  console.error(error.message)
}

/** As a person would: log in when asked to, and try again, but not for ever. */
async function patiently(work) {
  for (let logins = 0; ; logins++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof AuthRequired) || logins >= MAX_LOGINS) throw error
      await logIn()
      await board.reconnect(SERVER)
    }
  }
}

/** The suite's "browser" is a request whose redirect is not followed. */
async function logIn() {
  const { promise: shown, resolve: show } = withResolvers()
  await login(board.connection(SERVER).server, auth, {
    openBrowser: false,
    onUrl: show,
    readPasted: async () => {
      const answer = await fetch(await shown, { redirect: 'manual' })
      return answer.headers.get('location') ?? ''
    },
  })
}

/** Every tool on the board with arguments that its schema takes, or the calls that the suite asks for. */
function toolCalls() {
  if (given.toolCalls) return given.toolCalls
  const tools = board.tools().map(({ tool }) => tool)
  return tools.map((tool) => ({ name: tool.name, arguments: madeUp(tool.inputSchema, tools) }))
}

function madeUp(schema, tools) {
  const wanted = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name))
  return Object.fromEntries(wanted.map(([name, property]) => [name, madeUpValue(name, property, tools)]))
}

function madeUpValue(name, { type }, tools) {
  // The suite wants to see the schema of the first tool as our caller sees it.
  if (type === 'object' && name === 'schema') return tools[0].inputSchema
  const values = { string: 'text', number: 1.5, integer: 1, boolean: true, array: [], object: {} }
  return Object.hasOwn(values, type) ? values[type] : null
}

/** A person who accepts every form as it stands. */
async function answerForm(params, { server, signal }) {
  const question = readElicitation(server, params)
  if ('problem' in question) throw new Error(question.problem)
  return await elicit(question, { ask: async () => ({ action: 'accept', content: {} }) }, signal)
}

function answerSampling() {
  return { role: 'assistant', content: { type: 'text', text: 'text' }, model: 'none', stopReason: 'endTurn' }
}

function authSettings() {
  if (isXaa) return { xaa: { issuer: given.idp_issuer, clientId: given.idp_client_id } }
  if (!isMachine) return { clientMetadataUrl: 'https://conformance-test.local/client-metadata.json' }
  const { client_id: clientId = '', client_secret, private_key_pem, signing_algorithm, valid_jwt } = given
  const machine = {
    clientId,
    ...(client_secret && { clientSecret: client_secret }),
    ...(private_key_pem && { privateKey: private_key_pem }),
    ...(signing_algorithm && { alg: signing_algorithm }),
    ...(valid_jwt && { assertion: valid_jwt }),
  }
  return { machines: { [SERVER]: machine } }
}

/** The suite brings the person's login at the identity provider along; it goes where such a login is kept. */
async function enterIdpSession() {
  const { idp_issuer: issuer, idp_client_id: clientId, idp_id_token: idToken, idp_token_endpoint } = given
  const session = {
    version: 1,
    as: { issuer, token_endpoint: idp_token_endpoint },
    idToken,
    idTokenEndsAt: Date.now() + 3_600_000,
  }
  await auth.vault.set(JSON.stringify(['idp', issuer, clientId]), JSON.stringify(session))
}

/** `Promise.withResolvers`, which Node 20 lacks. */
function withResolvers() {
  let resolve
  const promise = new Promise((done) => {
    resolve = done
  })
  return { promise, resolve }
}
