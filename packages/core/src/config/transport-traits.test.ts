import { describe, expect, it } from 'vitest'
import type { ServerEntry, TransportType } from './entry.ts'
import { readEntry } from './schema.ts'
import {
  asSse,
  fallsBackToSse,
  headersHelperOf,
  isEditorEntry,
  isInProcess,
  isLocal,
  isRemoteEntry,
  kindOfType,
  OFFERED_TRANSPORTS,
  postsMessages,
  startsCommand,
  TRANSPORTS,
  traitsOf,
  urlOf,
  WRITTEN_TYPES,
} from './transport-traits.ts'

const types = Object.keys(TRANSPORTS) as TransportType[]

/** An entry of each type, as a file would have it. */
function entryOf(written: string): ServerEntry {
  const type = WRITTEN_TYPES.get(written) ?? 'stdio'
  const { kind, schemes } = TRANSPORTS[type]
  const own = {
    command: { command: 'node', args: ['server.js'] },
    remote: { url: `${schemes[0] ?? 'https:'}//example.com/mcp`, headersHelper: 'token' },
    editor: { url: `${schemes[0] ?? 'http:'}//127.0.0.1:1` },
    'in-process': {},
  }[kind]
  const outcome = readEntry({ type: written, ...own })
  if (!outcome.ok) throw new Error(`${written}: ${JSON.stringify(outcome.faults)}`)
  return outcome.entry
}

describe('transport traits', () => {
  it.each([...WRITTEN_TYPES])('are enough to write and read an entry: %s', (written, type) => {
    const entry = entryOf(written)
    expect(entry.type).toBe(type)
    const kinds = [startsCommand(entry), isRemoteEntry(entry), isEditorEntry(entry), isInProcess(entry)]
    expect(kinds.filter(Boolean)).toHaveLength(1)
    expect(isLocal(entry)).toBe(startsCommand(entry) || isInProcess(entry))
    expect(urlOf(entry) !== undefined).toBe(isRemoteEntry(entry) || isEditorEntry(entry))
    expect(headersHelperOf(entry)).toBe(isRemoteEntry(entry) ? 'token' : undefined)
  })

  it.each(types)('keep %s consistent: schemes, network and channel follow from its kind', (type) => {
    const { kind, schemes, network, opensWith, label } = traitsOf({ type })
    const overNetwork = kind === 'remote' || kind === 'editor'
    expect(schemes.length > 0).toBe(overNetwork)
    expect(network === 'tcp').toBe(overNetwork)
    expect(opensWith !== undefined).toBe(overNetwork)
    expect(label).not.toBe('')
  })

  it('give each name in a file one meaning', () => {
    const names = types.flatMap((type) => [type, ...TRANSPORTS[type].aliases])
    expect([...WRITTEN_TYPES.keys()]).toEqual(names)
    expect(new Set(names).size).toBe(names.length)
  })

  it('know no kind for a name that is not a transport', () => {
    expect(['tcp', '', 'constructor', undefined, 7].map(kindOfType)).toEqual(Array(5).fill(undefined))
    expect(kindOfType('sdk')).toBe('in-process')
  })

  it('offer to `plugboard add` what a user can write by hand', () => {
    expect(OFFERED_TRANSPORTS).toEqual(['stdio', 'http', 'sse', 'ws'])
  })

  it('tell a url without a type, which may become legacy SSE', () => {
    const guessed = readEntry({ url: 'https://example.com/mcp', headers: { a: 'b' } })
    if (!guessed.ok) throw new Error('a url alone is an entry')
    expect(fallsBackToSse(guessed.entry)).toBe(true)
    expect(fallsBackToSse(entryOf('http'))).toBe(false)
    expect(asSse(guessed.entry)).toEqual({
      type: 'sse',
      url: 'https://example.com/mcp',
      headers: { a: 'b' },
    })
    expect(postsMessages(guessed.entry)).toBe(true)
    expect(postsMessages(asSse(guessed.entry))).toBe(false)
    const local = entryOf('stdio')
    expect(asSse(local)).toBe(local)
  })
})
