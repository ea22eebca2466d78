// Search mode: three tools in place of many, which find, describe and call what the client may see.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Client } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { connect, firstText, folder, makeGateway, serve, stdio, until } from './fixtures/kit.ts'
import { type GatewayOptions, readExposure } from './index.ts'

const many = (name: string, count: number) =>
  stdio(name, [fileURLToPath(new URL('./fixtures/many.mjs', import.meta.url))], { COUNT: String(count) })

async function served(count: number, options: GatewayOptions, era: 'legacy' | 'modern' = 'legacy') {
  const stateDir = folder()
  const gateway = await makeGateway([many('desk', count)], options, { stateDir })
  await gateway.wake(20_000)
  const { url } = await serve(gateway)
  return { gateway, url, stateDir, client: await connect(url, { era }) }
}

async function listed(client: Client) {
  return (await client.listTools()).tools
}
const names = async (client: Client) => (await listed(client)).map(({ name }) => name)
const call = (client: Client, name: string, args: object) => client.callTool({ name, arguments: { ...args } })

describe.each(['legacy', 'modern'] as const)('search mode for a %s client', (era) => {
  it('finds, describes and calls a tool', async () => {
    const { client, gateway } = await served(60, { mode: 'search' }, era)
    expect(await names(client)).toEqual(['search_tools', 'describe_tools', 'call_tool'])
    const found = firstText(await call(client, 'search_tools', { query: 'put a ticket away in the archive' }))
    expect(found.split('\n')[0]).toMatch(
      /^mcp__desk__archive_ticket\(id: string, note\?: string, dry_run\?: boolean\): Use this/,
    )
    const described = firstText(
      await call(client, 'describe_tools', { names: ['mcp__desk__archive_ticket', 'nothing'] }),
    )
    expect(described).toContain('"required":["id"]')
    expect(described).toContain('There is no tool "nothing".')
    const result = await call(client, 'call_tool', {
      name: 'mcp__desk__archive_ticket',
      arguments: { id: 'T-1' },
    })
    expect(firstText(result)).toBe('archive_ticket {"id":"T-1"}')
    // A client may know a name from before.
    expect(firstText(await call(client, 'mcp__desk__list_photo', { id: 'P' }))).toBe('list_photo {"id":"P"}')
    expect(gateway.instructions({ exposure: gateway.expose })).toContain('search_tools')
  })
})

it('lists the same bytes whatever the servers have', async () => {
  const [few, lots] = [await served(3, { mode: 'search' }), await served(500, { mode: 'search' })]
  expect(JSON.stringify(await listed(few.client))).toBe(JSON.stringify(await listed(lots.client)))
})

/** The table in docs/serve.md, as it is measured here. `UPDATE_DOCS=1` writes it. */
it('costs what the guide says, in every mode', async () => {
  const number = (value: number, step = 1) => (Math.round(value / step) * step).toLocaleString('en-US')
  const rows: string[][] = [['mode', 'tools behind it', 'tools in the list', 'tokens of the definitions']]
  for (const mode of ['all', 'search', 'auto'] as const)
    for (const count of [5, 500]) {
      const { gateway, client } = await served(count, { mode })
      const { listedTools, listedTokens } = gateway.listing({ exposure: gateway.expose })
      expect(await listed(client)).toHaveLength(listedTools)
      if (mode === 'search') expect(listedTokens).toBeLessThanOrEqual(1500)
      const tokens = number(listedTokens, listedTokens > 10_000 ? 1000 : 10)
      rows.push([`\`--mode ${mode}\``, number(count), number(listedTools), `about ${tokens}`])
      await gateway.close()
    }
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0))) ?? []
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  const [head = [], ...body] = rows
  const table = [line(head), line(widths.map((width) => '-'.repeat(width))), ...body.map(line)].join('\n')
  const file = new URL('../../../docs/serve.md', import.meta.url)
  const page = readFileSync(file, 'utf8')
  const wanted = page.replace(
    /<!-- modes -->[\s\S]*<!-- end of modes -->/,
    `<!-- modes -->\n\n${table}\n\n<!-- end of modes -->`,
  )
  if (process.env['UPDATE_DOCS']) writeFileSync(file, wanted)
  expect(process.env['UPDATE_DOCS'] ? wanted : page).toBe(wanted)
}, 60_000)

it('says what is wrong with a call, and what would be right', async () => {
  const { client } = await served(60, { mode: 'search' })
  const bad = await call(client, 'call_tool', { name: 'mcp__desk__archive_ticket', arguments: { id: 7 } })
  expect(bad.isError).toBe(true)
  expect(firstText(bad)).toMatch(/do not fit: .*id.*Its schema: \{/)
  const unknown = await call(client, 'call_tool', { name: 'mcp__desk__archive_tickets', arguments: {} })
  expect(firstText(unknown)).toContain('Did you mean mcp__desk__archive_ticket')
  for (const [tool, args] of [
    ['search_tools', {}],
    ['describe_tools', { names: 'x' }],
    ['call_tool', {}],
  ] as const)
    expect((await call(client, tool, args)).isError).toBe(true)
})

it('decides and logs a call under the name of the real tool', async () => {
  const { gateway, client, stateDir } = await served(60, { mode: 'search' })
  const rule = { action: 'deny', rule: 'desk.delete_*', file: 'test', scope: 'user' } as const
  await gateway.board.link.apply([many('desk', 60)], [rule])
  const denied = await call(client, 'call_tool', { name: 'mcp__desk__delete_photo', arguments: { id: 'P' } })
  expect(denied.isError).toBe(true)
  expect(firstText(await call(client, 'search_tools', { query: 'delete a photo', limit: 20 }))).not.toContain(
    'delete_',
  )
  await call(client, 'call_tool', { name: 'mcp__desk__list_photo', arguments: { id: 'P' } })
  await until(() =>
    readFileSync(join(stateDir, 'audit.jsonl'), { encoding: 'utf8', flag: 'a+' }).includes('"list_photo"'),
  )
})

it('shows a client nothing that its token does not open', async () => {
  const { gateway } = await served(60, { mode: 'search' })
  const { url } = await serve(gateway, [{ token: 'narrow', exposure: readExposure(['desk.list_*']) }])
  const client = await connect(url, { token: 'narrow' })
  expect(firstText(await call(client, 'search_tools', { query: 'archive', limit: 20 }))).not.toContain(
    'archive_',
  )
  expect(firstText(await call(client, 'describe_tools', { names: ['mcp__desk__archive_ticket'] }))).toContain(
    'There is no tool',
  )
  const refused = await call(client, 'call_tool', {
    name: 'mcp__desk__archive_ticket',
    arguments: { id: 'x' },
  })
  expect(refused.isError).toBe(true)
  expect(firstText(refused)).toMatch(/^There is no tool/)
})

it('lists what is always loaded beside the search tools', async () => {
  const { client } = await served(60, { mode: 'search', always: readExposure(['desk.list_t*']) })
  expect(await names(client)).toEqual([
    'search_tools',
    'describe_tools',
    'call_tool',
    'mcp__desk__list_ticket',
  ])
})

it('decides by the cost of the definitions in auto mode, and leaves clients alone that search themselves', async () => {
  const small = await served(5, { mode: 'auto' })
  expect(await names(small.client)).toHaveLength(5)
  const large = await served(60, { mode: 'auto' })
  expect(await names(large.client)).toHaveLength(3)
  const status = await large.client.readResource({ uri: 'plugboard://status' })
  expect(JSON.stringify(status)).toContain('\\"mode\\": \\"search\\"')
  const { listing } = {
    listing: large.gateway.listing({ exposure: large.gateway.expose, name: 'claude-code' }),
  }
  expect(listing).toMatchObject({ mode: 'all', tools: 60, listedTools: 60 })
  const patient = await served(60, { mode: 'auto', searchAbove: { tokens: 1_000_000, tools: 1000 } })
  expect(await names(patient.client)).toHaveLength(60)
})
