import { describe, expect, it } from 'vitest'
import { toolTraits, userFacingName } from '../tools/annotations.ts'
import { readToolList } from '../tools/definition.ts'
import { cleanText, describeTool } from './sanitize.ts'

describe('descriptions', () => {
  it.each([
    ['colour codes', '\u001b[31mred\u001b[0m', 'red'],
    ['window titles', 'a\u001b]0;evil title\u0007b', 'ab'],
    ['the one-character escape', 'a\u009b31mb', 'ab'],
    ['control characters', 'a\u0000b\u0008c\u007f', 'abc'],
    ['text that runs backwards', 'a\u202eb\u2066c', 'abc'],
    ['zero width characters', 'i\u200bg\u2060n\ufeffore', 'ignore'],
    ['letters in the tag block', `a${String.fromCodePoint(0xe0041, 0xe0042)}`, 'a'],
    ['half a character', 'a\ud800b', 'a\ufffdb'],
  ])('lose %s', (_, text, clean) => {
    expect(cleanText(text)).toBe(clean)
  })

  it('keep lines, tabs, letters of every script and emoji', () => {
    for (const text of ['a\n\tb', 'Größe 价格 ☎️', '👩‍💻 ok', '👍🏽']) expect(cleanText(text)).toBe(text)
    expect(cleanText('a\r\nb\u2028c')).toBe('a\nb\nc')
  })

  it('are cut at 2048 characters, and say so', () => {
    const long = describeTool('word '.repeat(12_000))
    expect(long.length).toBeLessThanOrEqual(2048)
    expect(long).toMatch(/… \[cut, 60000 characters in all\]$/)
    expect(describeTool('x'.repeat(2048))).toHaveLength(2048)
    expect(describeTool('😀'.repeat(2000))).not.toMatch(/\p{Surrogate}/u)
  })

  it('are empty when they are not text', () => {
    for (const none of [undefined, null, 7, {}]) expect(describeTool(none)).toBe('')
  })
})

describe('a tool list', () => {
  it('loses the tools that are broken, and no others', () => {
    const { tools, warnings } = readToolList([
      { name: 'good', inputSchema: { type: 'object' }, annotations: { readOnlyHint: 'yes', title: 'Good' } },
      null,
      { name: '' },
      { name: 'x'.repeat(600) },
      { name: 'bare' },
      { name: 'good', inputSchema: {} },
      { name: 'root-any-of', inputSchema: { anyOf: [{}] } },
    ])
    expect(tools.map(({ name }) => name)).toEqual(['good', 'bare', 'root-any-of'])
    expect(tools[0]?.annotations).toEqual({ title: 'Good' })
    expect(tools[1]?.inputSchema).toEqual({ type: 'object' })
    expect(warnings).toHaveLength(5)
    expect(readToolList('x')).toEqual({ tools: [], warnings: ['The tool list is not an array.'] })
  })
})

describe('annotations', () => {
  const traits = (annotations: Record<string, boolean>) =>
    toolTraits({ name: 't', inputSchema: {}, annotations })

  it('mean the worst when they are silent', () => {
    expect(toolTraits({ name: 't', inputSchema: {} })).toEqual({
      readOnly: false,
      destructive: true,
      idempotent: false,
      openWorld: true,
      concurrencySafe: false,
    })
  })

  it('make a reading tool safe to run beside others', () => {
    expect(traits({ readOnlyHint: true, destructiveHint: true })).toMatchObject({
      readOnly: true,
      destructive: false,
      concurrencySafe: true,
    })
    expect(traits({ destructiveHint: false, openWorldHint: false, idempotentHint: true })).toMatchObject({
      destructive: false,
      openWorld: false,
      idempotent: true,
    })
  })

  it('name the tool for people, without tricks', () => {
    expect(userFacingName({ name: 't', title: 'A\u202e\ntitle', inputSchema: {} })).toBe('A title')
    expect(userFacingName({ name: 't', annotations: { title: 'B' }, inputSchema: {} })).toBe('B')
    expect(userFacingName({ name: 't', title: '\u200b', inputSchema: {} })).toBe('t')
  })
})

describe('a tool without a description', () => {
  it.each([
    ['list_open-issues', undefined, 'List open issues.'],
    ['listOpenIssues', undefined, 'List open issues.'],
    ['getHTTPHeaders2', undefined, 'Get HTTP headers2.'],
    ['files.read/all', undefined, 'Files read all.'],
    ['x', 'Search the Web', 'Search the web.'],
    ['x', '  ', 'X.'],
    ['\u202eab\u200b', undefined, 'Ab.'],
    ['__', undefined, 'A tool without a description.'],
  ])('is described by its name or title: %s, %s', (name, title, text) => {
    expect(describeTool(undefined, { name, title })).toBe(text)
    expect(describeTool(' \n', { name, title })).toBe(text)
  })

  it('is not when there is a description, however short', () => {
    expect(describeTool('.', { name: 'x' })).toBe('.')
  })
})
