// biome-ignore-all lint/suspicious/noTemplateCurlyInString: variables of configuration files are the subject here.
// Files of other clients that are far too large: each is read in a bounded time, and nothing overflows.
import { describe, expect, it } from 'vitest'
import { CLIENTS, type ClientFormat, findClient } from './index.ts'

function client(id: string): ClientFormat {
  const found = findClient(id)
  if (!found) throw new Error(`no client ${id}`)
  return found
}

describe('a file of another client', () => {
  it.each([
    [
      'braces that never close',
      { command: 'x', args: ['${'.repeat(400_000), '{file:'.repeat(100_000), '${A:-'.repeat(200_000)] },
    ],
    ['more arguments than a call takes', { command: 'x', args: Array(130_000).fill('${config:a}') }],
    ['percent signs', { command: '%a'.repeat(400_000) }],
  ])(
    'is not held up by %s',
    (_what, evil) => {
      for (const { id, parse, print } of CLIENTS) {
        if (id !== 'codex') {
          const { servers, notes } = parse(
            JSON.stringify({ mcpServers: { evil }, servers: { evil }, mcp: { evil } }),
          )
          expect([...servers.keys(), ...notes.map(({ server }) => server)], id).toContain('evil')
        }
        expect(print(new Map([['evil', evil]])).text.length, id).toBeGreaterThan(0)
      }
    },
    120_000,
  )

  it('is not held up by tens of thousands of names and inputs', () => {
    const keys = Array.from({ length: 60_000 }, (_, index) => String.fromCodePoint(0x10000 + index))
    const many = Object.fromEntries(keys.map((key) => [key, { command: 'x' }]))
    const { servers, notes } = client('cursor').parse(
      JSON.stringify({ mcpServers: { ...many, [`a${'-'.repeat(200_000)}!`]: {} } }),
    )
    expect(servers.size).toBe(5000)
    expect(notes[0]?.message).toContain('first 5000')
    const args = keys.slice(0, 20_000).map((key) => `\${input:${key}}`)
    expect(
      client('vscode').parse(JSON.stringify({ servers: { a: { command: 'x', args } } })).notes,
    ).toHaveLength(20_000)
  })
})
