import { describe, expect, it } from 'vitest'
import { DEFINITION_LIMITS } from '../limits.ts'
import { excessOf, MISSING_INPUT_SCHEMA, parseTool } from './tool-definition.ts'

function nested(levels: number): unknown {
  let value: unknown = {}
  for (let level = 1; level < levels; level++) value = { properties: value }
  return value
}

function parse(item: unknown) {
  const notes: string[] = []
  return { tool: parseTool(item, (text) => notes.push(text)), notes }
}

const plain = { name: 'a', inputSchema: { type: 'object' } }

describe('a tool on arrival', () => {
  it('stays as it came when it is within bounds', () => {
    const { tool, notes } = parse(plain)
    expect(tool).toBe(plain)
    expect(notes).toEqual([])
  })

  it.each([
    ['no object', 7, 'a tool that is not an object'],
    ['no name', { inputSchema: {} }, 'a tool without a name'],
    ['an empty name', { name: '', inputSchema: {} }, 'a tool without a name'],
    [
      'a name of a kilobyte',
      { name: 'x'.repeat(1024), inputSchema: {} },
      'name is longer than 512 characters',
    ],
    [
      '50,000 levels',
      { name: 'deep', inputSchema: nested(50_000) },
      '"deep" is nested deeper than 200 levels',
    ],
    [
      'a megabyte of text',
      { name: 'big', inputSchema: { type: 'object', description: 'x'.repeat(1024 * 1024) } },
      '"big" is larger than 512 KiB',
    ],
    [
      'a megabyte of numbers',
      { name: 'big', inputSchema: { enum: Array.from({ length: 200_000 }, (_, at) => at) } },
      '"big" is larger than 512 KiB',
    ],
    [
      'many thousands of properties',
      {
        name: 'wide',
        inputSchema: {
          properties: Object.fromEntries(Array.from({ length: 100_000 }, (_, at) => [`p${at}`, {}])),
        },
      },
      '"wide" is larger than 512 KiB',
    ],
    [
      'depth below the own key __proto__',
      { name: 'proto', inputSchema: JSON.parse(`{"__proto__": ${'['.repeat(999)}${']'.repeat(999)}}`) },
      '"proto" is nested deeper than 200 levels',
    ],
  ])('is left out with %s', (_what, item, why) => {
    expect(parse(item).tool).toContain(why)
  })

  it('may have as many levels and characters as the bounds say, and not one more', () => {
    expect(excessOf(nested(DEFINITION_LIMITS.depth))).toBeUndefined()
    expect(excessOf(nested(DEFINITION_LIMITS.depth + 1))).toContain('levels')
    expect(excessOf('x'.repeat(DEFINITION_LIMITS.chars))).toBeUndefined()
    // A key of one character takes five, a string two more than its length.
    expect(excessOf({ a: 'x'.repeat(DEFINITION_LIMITS.chars - 7) })).toBeUndefined()
    expect(excessOf({ a: 'x'.repeat(DEFINITION_LIMITS.chars - 6) })).toContain('KiB')
    expect(excessOf(null)).toBeUndefined()
    expect(excessOf(undefined)).toBeUndefined()
  })

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a list', []],
    ['a text', 'object'],
  ])('gets a schema when the server gave %s for one', (_what, inputSchema) => {
    const { tool } = parse({ name: 'a', description: 'b', inputSchema })
    expect(tool).toEqual({ name: 'a', description: 'b', inputSchema: { type: 'object' } })
    expect((tool as typeof plain).inputSchema).toBe(MISSING_INPUT_SCHEMA)
  })

  it('loses no more than the field that is too much', () => {
    const { tool, notes } = parse({
      ...plain,
      description: 'd'.repeat(DEFINITION_LIMITS.textChars + 1),
      title: 't'.repeat(DEFINITION_LIMITS.textChars),
      outputSchema: nested(50_000),
      icons: [{ src: `data:${'x'.repeat(DEFINITION_LIMITS.chars)}` }],
      _meta: { fine: true },
    })
    expect(tool).toEqual({
      ...plain,
      description: 'd'.repeat(DEFINITION_LIMITS.textChars),
      title: 't'.repeat(DEFINITION_LIMITS.textChars),
      _meta: { fine: true },
    })
    expect(notes).toEqual([
      'the description of the tool "a" was cut at 65536 characters',
      'the outputSchema of the tool "a" was left out: it is nested deeper than 200 levels',
      'the icons of the tool "a" was left out: it is larger than 512 KiB',
    ])
  })
})
