// The client that the official conformance suite drives: `client.mjs URL`. It is a small program on our public API and
// does with any server what such a program would do: connect, log in when asked, list everything, use everything.
// Only what no program could guess (which arguments, which credentials) comes from the suite's environment.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { AuthRequired, openBoard, systemHost } from '@plugboard/core'
import { authFor, login, memoryVault } from '@plugboard/core/auth'

const SERVER = 'suite'
/** A first login, and one that grants more; a third request for the same thing is given up. */
const MAX_LOGINS = 2
const SAMPLE = {
  role: 'assistant',
  content: { type: 'text', text: 'text' },
  model: 'none',
  stopReason: 'endTurn',
}
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
    caller: 'user',
    elicit: acceptAsItStands,
    sample: { consent: async () => 'session', model: async () => SAMPLE },
    clientInfo: { name: 'plugboard-conformance', version: '1.0.0' },
  })
  await useEverything()
} catch (error) {
  console.error(error)
  console.error(`ended with ${error.refusal ?? error.reason ?? error.code}`)
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
  await useTools()
  await useSkills()
  for (const { resource } of await board.resources({ server: SERVER }))
    await patiently(() => board.read(SERVER, resource.uri))
  for (const { prompt } of await board.prompts({ server: SERVER })) {
    const args = Object.fromEntries((prompt.arguments ?? []).map(({ name }) => [name, 'text']))
    await patiently(() => board.prompt(SERVER, prompt.name, args))
  }
}

/** Lists the skills, and loads each of them whole, unless the scenario is only about listing. */
async function useSkills() {
  const skills = await board.skills({ server: SERVER })
  if (scenario === 'sep-2640-client-no-prefetch') return
  for (const { name, files = ['SKILL.md'] } of skills)
    for (const file of files) await patiently(() => board.readSkill(SERVER, name, { file }))
}

/** The calls that the suite prescribes, or else every tool on the board. */
async function useTools() {
  // Some of the suite's arguments do not fit the tool's own schema; `request` sends them all the same.
  for (const { name, arguments: args } of given.toolCalls ?? [])
    await patiently(() => board.link.request(SERVER, 'tools/call', { name, arguments: args }))
  if (given.toolCalls) return
  const tools = board.tools()
  for (const tool of tools) {
    const args = madeUp(tool.inputJsonSchema, tools)
    // A tool that needs more than made-up arguments is left to a model.
    if (tool.argumentProblem(args)) continue
    await patiently(() => tool.call(args)).catch(bearToolError)
  }
}

/** A failing tool is left to the model; the program goes on. */
function bearToolError(error) {
  if (error.code !== 'TOOL_ERROR') throw error
  console.error(error.message)
}

/** As a user would: log in when asked to, and try again, but not for ever. */
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
  await login(board.link.connection(SERVER).server, auth, {
    openBrowser: false,
    onUrl: show,
    readPasted: async () => {
      const answer = await fetch(await shown, { redirect: 'manual' })
      return answer.headers.get('location') ?? ''
    },
  })
}

/** Arguments that a schema takes. */
function madeUp(schema, tools) {
  const wanted = Object.entries(schema.properties ?? {}).filter(([name]) => schema.required?.includes(name))
  return Object.fromEntries(wanted.map(([name, property]) => [name, madeUpValue(name, property, tools)]))
}

function madeUpValue(name, { type }, tools) {
  // The suite wants to see the schema of the first tool as our caller sees it.
  if (type === 'object' && name === 'schema') return tools[0].inputJsonSchema
  const values = { string: 'text', number: 1.5, integer: 1, boolean: true, array: [], object: {} }
  return Object.hasOwn(values, type) ? values[type] : null
}

/** A user who accepts every form as it is. */
async function acceptAsItStands() {
  return { action: 'accept', content: {} }
}

function authSettings() {
  if (isXaa) return { xaa: { issuer: given.idp_issuer, clientId: given.idp_client_id } }
  if (!isMachine) return { clientMetadataUrl: 'https://conformance-test.local/client-metadata.json' }
  const { client_id: clientId = '', client_secret, private_key_pem, signing_algorithm, valid_jwt } = given
  const machine = {
    // Credentials belong to an address.
    url,
    clientId,
    ...(client_secret && { clientSecret: client_secret }),
    ...(private_key_pem && { privateKey: private_key_pem }),
    ...(signing_algorithm && { alg: signing_algorithm }),
    ...(valid_jwt && { assertion: valid_jwt }),
  }
  return { machines: { [SERVER]: machine } }
}

/** The suite provides the user's login at the identity provider; it goes where such a login is kept. */
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
