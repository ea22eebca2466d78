// stand-ins.ts: the services that a page mentions and that run here on loopback: a server behind a login, a model.
// A page has a fixed URL; the command gets the real one, and its output is translated back.
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import {
  modelServer,
  type Reply,
  type ScriptedRequest,
} from '../../packages/agent/src/fixtures/model-server.mjs'
import { startAuthorizationServer } from '../../packages/core/src/auth/fixtures/authorization-server.ts'
import { startResourceServer } from '../../packages/core/src/auth/fixtures/resource-server.ts'
import { freePort } from '../support/free-port.mjs'
import { modelApis } from './model-apis.ts'
import type { Place } from './place.ts'

export interface StandIn {
  /** The page's URL → the real one. */
  readonly addresses: Readonly<Record<string, string>>
  close(): Promise<void>
}

/** A page that needs one is one more row. */
const NEEDED: Readonly<Record<string, (place: Place) => Promise<StandIn>>> = {
  'docs/login.md': behindLogin,
  'docs/agent.md': localModel,
  'docs/library.md': providers,
  'docs/serve.md': () => ownPort(7337),
  'docs/codebase.md': () => ownPort(7338),
}

export async function standInFor(page: string, place: Place): Promise<StandIn> {
  return (await NEEDED[page]?.(place)) ?? { addresses: {}, close: async () => undefined }
}

/** A real authorization server and a real MCP server behind it; the browser is one that signs in at once. */
async function behindLogin(place: Place): Promise<StandIn> {
  const as = await startAuthorizationServer()
  const rs = await startResourceServer({ as })
  const browser = createServer(async (request, response) => {
    const url = new URL(request.url ?? '', 'http://browser').searchParams.get('url') ?? ''
    response.end()
    await fetch(await as.walk(url)).catch(() => undefined)
  })
  await new Promise<void>((done) => browser.listen(0, '127.0.0.1', done))
  const { port } = browser.address() as AddressInfo
  const opener = `#!${process.execPath}\nfetch('http://127.0.0.1:${port}/?url=' + encodeURIComponent(process.argv[2]))\n`
  for (const name of ['xdg-open', 'open']) writeFileSync(join(place.bin, name), opener, { mode: 0o755 })
  return {
    addresses: {
      'https://tickets.example.com/mcp': rs.url,
      'https://tickets.example.com': new URL(rs.url).origin,
      'https://login.example.com': as.issuer,
    },
    close: async () => {
      browser.closeAllConnections()
      browser.close()
      await rs.close()
      await as.close()
    },
  }
}

/** The providers of the loops. */
async function providers(): Promise<StandIn> {
  const apis = await modelApis()
  return {
    addresses: {
      'https://api.anthropic.com': apis.url,
      'https://api.openai.com': apis.url,
      'https://generativelanguage.googleapis.com': apis.url,
    },
    close: () => apis.close(),
  }
}

/** A model that searches for a tool, uses it, and answers with the result. */
async function localModel(): Promise<StandIn> {
  const model = await modelServer(answer)
  return { addresses: { 'http://127.0.0.1:11434': model.url }, close: () => model.close() }
}

function answer({ results, tools, user }: ScriptedRequest): Reply {
  const [result] = results
  if (!/sum|add/i.test(user)) return { text: 'Good day.' }
  if (result?.name === 'mcp__everything__get-sum')
    return { text: result.isError ? 'I may not.' : result.text }
  if (tools.includes('mcp__everything__get-sum') || result?.name === 'tool_search')
    return { calls: [{ name: 'mcp__everything__get-sum', arguments: { a: 1, b: 2 } }] }
  return { calls: [{ name: 'tool_search', arguments: { query: 'sum of two numbers' } }] }
}

/** A free port, in place of the one that the page names. */
async function ownPort(shown: number): Promise<StandIn> {
  const port = await freePort()
  return {
    addresses: { [`--port ${shown}`]: `--port ${port}`, [`127.0.0.1:${shown}`]: `127.0.0.1:${port}` },
    close: async () => undefined,
  }
}
