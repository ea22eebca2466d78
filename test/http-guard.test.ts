// Two servers with guards of their own, one table: what the gateway refuses, the code-search server refuses, and the reverse.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCodebaseServer } from '@plugboard/codebase'
import { openBoard } from '@plugboard/core'
import { GATEWAY_LIMITS } from '@plugboard/core/limits'
import { openGateway, serveHttp } from '@plugboard/gateway'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HTTP_LIMITS } from '../packages/codebase/src/limits.ts'
import { GUARD_ROWS, type GuardedServer, LISTED, sendRow } from './support/http-guard.ts'

const folder = mkdtempSync(join(tmpdir(), 'plugboard-guard-'))
const allowed = { allowedOrigins: [LISTED.origin], allowedHosts: [LISTED.host] }
type Started = GuardedServer & { close(): Promise<unknown> }

async function startGateway(): Promise<Started> {
  const gateway = await openGateway((wiring) =>
    openBoard({ servers: [], stateDir: join(folder, 'state'), ...wiring }),
  )
  const http = await serveHttp(gateway, { port: 0, grants: [], ...allowed })
  const close = async () => {
    await http.close()
    await gateway.close()
  }
  return { port: http.port, bodyBytes: GATEWAY_LIMITS.bodyBytes, close }
}

async function startCodebase(): Promise<Started> {
  const server = createCodebaseServer({
    root: folder,
    cacheDir: join(folder, 'cache'),
    embeddings: { kind: 'none' },
  })
  const http = await server.serveHttp({ port: 0, auth: false, ...allowed })
  return { port: http.port, bodyBytes: HTTP_LIMITS.bodyBytes, close: () => server.close() }
}

afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each([
  ['the gateway', startGateway],
  ['the code-search server', startCodebase],
])('%s', (_, start) => {
  let server: Started
  beforeAll(async () => {
    server = await start()
  })
  afterAll(() => server.close())

  it.each(GUARD_ROWS)('answers $status to $name', async (row) => {
    const answer = await sendRow(server, row)
    // A cache must not give the answer to one page to another; a wrong host is refused before the page is looked at.
    const hasPage = row.headers?.origin !== undefined && row.headers.host === undefined
    expect(answer).toEqual({
      status: row.status,
      allowsOrigin: row.allowsOrigin?.replace('PORT', String(server.port)),
      vary: hasPage ? 'Origin' : undefined,
    })
  })
})
