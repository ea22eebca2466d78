// The labelled queries, over the real tools of the servers installed here. Every second query was held out while the
// weights were chosen; bench/ prints both halves.
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { listAllTools } from '../../../../bench/lib/servers.mjs'
import { describeTool } from '../text/sanitize.ts'
import { readToolList } from './definition.ts'
import { type SearchableTool, ToolIndex } from './search-ranking.ts'
import { stem } from './search-terms.ts'
import { planLoading, tokenCosts } from './token-costs.ts'
import { toolSearch } from './tool-search.ts'

type Counted = SearchableTool & { alwaysLoad: boolean }
const tools: Counted[] = []
beforeAll(async () => {
  for (const [server, list] of await listAllTools())
    for (const tool of readToolList(list).tools)
      tools.push({
        name: `mcp__${server}__${tool.name}`,
        server,
        tool: tool.name,
        title: tool.title ?? tool.annotations?.title,
        description: describeTool(tool.description),
        inputJsonSchema: tool.inputSchema,
        alwaysLoad: server === 'filesystem',
      })
})

describe('tool search', () => {
  it('finds what people mean among the first five, nine times in ten', () => {
    const labelled: { query: string; tools: string[] }[] = JSON.parse(
      readFileSync(new URL('../../../../bench/lib/queries.json', import.meta.url), 'utf8'),
    )
    expect(labelled.length).toBeGreaterThanOrEqual(200)
    const index = new ToolIndex(tools)
    const missed = labelled.filter(({ query, tools: wanted }) => {
      const found = index.search(query, 5).map(({ name }) => name)
      return !wanted.some((one) => found.includes(`mcp__${one.replace('.', '__')}`))
    })
    expect(
      1 - missed.length / labelled.length,
      missed.map(({ query }) => query).join('\n'),
    ).toBeGreaterThanOrEqual(0.9)
  })

  it('finds a tool by its own name, by half a word and despite a slip', () => {
    const index = new ToolIndex(tools)
    const first = (query: string) => index.search(query, 1)[0]?.name
    expect(first('mcp__github__merge_pull_request')).toBe('mcp__github__merge_pull_request')
    expect(index.search('screensh', 3).map(({ name }) => name)).toContain(
      'mcp__playwright__browser_take_screenshot',
    )
    for (const slip of ['screnshot', 'screenshto', 'screenshoot'])
      expect(index.search(slip, 3).map(({ name }) => name)).toContain(
        'mcp__playwright__browser_take_screenshot',
      )
  })

  it.each(['', '   ', '?!', 'the of and', 'x'.repeat(100_000), '__proto__ constructor', '\u202e'])(
    'takes %j',
    (query) => {
      expect(new ToolIndex(tools).search(query).length).toBeLessThanOrEqual(5)
      expect(new ToolIndex([]).search(query)).toEqual([])
    },
  )

  it('stems alike what is alike', () => {
    for (const words of [
      ['merge', 'merges', 'merging', 'merged'],
      ['commit', 'commits', 'committed'],
      ['directory', 'directories'],
      ['branch', 'branches'],
      ['transcription', 'transcriptions', 'transcript'],
      ['approval', 'approve', 'approved'],
      ['emoji', 'emojis'],
    ])
      expect(new Set(words.map(stem)).size, words.join()).toBe(1)
  })
})

describe('the budget', () => {
  it('counts the cost of every server', () => {
    const ledger = tokenCosts(tools)
    expect(ledger.tools).toBe(tools.length)
    expect(ledger.servers.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(ledger.tokens)
    expect(ledger.servers[0]?.tokens).toBeGreaterThan(ledger.servers.at(-1)?.tokens ?? 0)
  })

  it.each<[string, number, object, 'all' | 'search']>([
    ['few tools', 20, {}, 'all'],
    ['more than 50 tools', 60, {}, 'search'],
    ['a small context', 20, { contextTokens: 10_000 }, 'search'],
    ['switched off', 60, { mode: 'false' }, 'all'],
    ['switched on', 20, { mode: 'true' }, 'search'],
    ['a share of the context', 20, { mode: 'auto:1', contextTokens: 100_000 }, 'search'],
  ])('%s: %i tools, %j → %s', (_, count, options, kind) => {
    expect(planLoading(tools.slice(0, count), options).kind).toBe(kind)
  })

  it('always sends the tools that must be there', () => {
    const plan = planLoading(tools)
    expect(plan.kind === 'search' && plan.loaded.every(({ server }) => server === 'filesystem')).toBe(true)
    const only = tools.filter(({ alwaysLoad }) => alwaysLoad)
    expect(planLoading(only, { mode: 'true' }).kind).toBe('all')
  })

  it('gives the model one tool to find the others with', () => {
    const search = toolSearch(tools)
    expect(search.definition.description).toContain('github (26)')
    const found = search.search({ query: 'merge the pull request', max_results: 3 })
    expect(found.names).toContain('mcp__github__merge_pull_request')
    expect(found.text).toContain('parameters: {"type":"object"')
    expect(search.search({ names: ['mcp__git__git_log', 'nothing'] }).names).toEqual(['mcp__git__git_log'])
    for (const odd of [undefined, null, 7, {}, { query: 7 }, { query: 'zzzzqqq' }])
      expect(search.search(odd)).toMatchObject({
        names: [],
        text: expect.stringContaining('No tool matches'),
      })
  })
})
