import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CONFIG_LIMITS } from '../limits.ts'
import { type JsonNode, member, nodeAt, parseDocument, parseJson, toValue } from './parse.ts'

const parse = (text: string, keep?: string[]) => parseDocument(text, 'f.json', keep)
const readAs = (text: string, keep?: string[]) => toValue(parse(text, keep).root)
const faults = (text: string, keep?: string[]) =>
  parse(text, keep).diagnostics.map(({ severity, line, column, message }) => ({
    severity,
    line,
    column,
    message,
  }))

describe('what is read', () => {
  it.each([
    ['comments', '// a\n{ /* b */ "x" /* c */ : // d\n 1 }', { x: 1 }],
    ['trailing commas', '{ "x": [1, 2,], }', { x: [1, 2] }],
    ['a byte order mark', '\uFEFF{"x":1}', { x: 1 }],
    ['CRLF', '{\r\n"x": 1\r\n}\r\n', { x: 1 }],
    ['escapes', '{"\\u0061\\n": "\\"\\\\"}', { 'a\n': '"\\' }],
    ['a scalar document', 'null', null],
    ['slashes inside strings', '{"u": "http://x/*y*/"}', { u: 'http://x/*y*/' }],
  ])('%s', (_, text, value) => {
    expect(parse(text).diagnostics).toEqual([])
    expect(readAs(text)).toEqual(value)
  })

  it.each([
    ['nothing', ''],
    ['white space', ' \r\n\t'],
    ['a byte order mark alone', '\uFEFF'],
    ['comments alone', '// nothing yet\n/* really */'],
  ])('a file with %s is empty, not broken', (_, text) => {
    expect(parse(text)).toMatchObject({ root: undefined, broken: false, diagnostics: [] })
  })

  it('is what JSON.parse reads, whatever the JSON', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false, maxDepth: 5 }), (text) => {
        fc.pre(!text.includes('__proto__'))
        expect(readAs(text)).toEqual(JSON.parse(text))
      }),
      { numRuns: 300 },
    )
  })
})

describe('keys', () => {
  it('lets the last of two equal keys count, and says where both stand', () => {
    const document = parse('{\n  "a": 1,\n  "b": { "c": 1,\n    "c": 2 },\n  "a": 3\n}')
    expect(toValue(document.root)).toEqual({ a: 3, b: { c: 2 } })
    expect(document.diagnostics).toMatchObject([
      { severity: 'warning', line: 4, column: 5, path: 'b.c', hint: expect.stringContaining('line 3') },
      { severity: 'warning', line: 5, column: 3, path: 'a', hint: expect.stringContaining('line 2') },
    ])
    expect(document.broken).toBe(false)
  })

  it('ignores __proto__ with a warning, and pollutes nothing', () => {
    const document = parse('{"a": {"__proto__": {"evil": true}, "x": 1}}')
    const value = toValue(document.root) as { a: Record<string, unknown> }
    expect(value).toEqual({ a: { x: 1 } })
    expect(Object.getPrototypeOf(value.a)).toBe(Object.prototype)
    expect(({} as Record<string, unknown>)['evil']).toBeUndefined()
    expect(document.diagnostics).toMatchObject([{ severity: 'warning', path: 'a.__proto__', column: 8 }])
  })

  it('keeps keys that objects have by birth as plain data', () => {
    const value = readAs('{"constructor": 1, "toString": {"hasOwnProperty": 2}}') as object
    expect(Object.entries(value)).toEqual([
      ['constructor', 1],
      ['toString', { hasOwnProperty: 2 }],
    ])
  })
})

describe('positions', () => {
  it.each([
    ['LF', '{\n  "a": 1,\n   "b": 2 }'],
    ['CRLF', '{\r\n  "a": 1,\r\n   "b": 2 }'],
    ['a byte order mark', '\uFEFF{\n  "a": 1,\n   "b": 2 }'],
  ])('are exact with %s', (_, text) => {
    const { root, position } = parse(text)
    expect(position(member(root, 'a')?.offset ?? -1)).toEqual({ line: 2, column: 3 })
    expect(position(member(root, 'b')?.offset ?? -1)).toEqual({ line: 3, column: 4 })
    expect(position(nodeAt(root, ['b'])?.offset ?? -1)).toEqual({ line: 3, column: 9 })
  })

  it('of every node span exactly its text', () => {
    const text = '{ "a": [1, {"b": "x"}], "c": null }'
    const { root } = parse(text)
    const at = (...path: (string | number)[]) => {
      const node = nodeAt(root, path)
      return node && text.slice(node.offset, node.end)
    }
    expect([at(), at('a'), at('a', 1), at('a', 1, 'b'), at('c')]).toEqual([
      text,
      '[1, {"b": "x"}]',
      '{"b": "x"}',
      '"x"',
      'null',
    ])
    expect(at('a', '1')).toBeUndefined()
  })
})

describe('broken text', () => {
  it.each([
    ['a missing comma', '{\n  "a": 1\n  "b": 2\n}', 3, 3, 'a comma is missing'],
    ['a missing colon', '{ "a" 1 }', 1, 7, 'a colon is missing'],
    ['a missing value', '{ "a": }', 1, 8, 'a value is missing'],
    ['a missing brace', '{ "a": 1', 1, 9, 'a closing } is missing'],
    ['a missing bracket', '[1', 1, 3, 'a closing ] is missing'],
    ['an open string', '{ "a": "x\n}', 1, 8, 'a string is not closed'],
    ['an open comment', '{ "a": 1 } /* x', 1, 12, 'a comment is not closed'],
    ['text after the end', '{} {}', 1, 4, 'there is something after the end of the document'],
    ['a bare word', '{ "a": yes }', 1, 8, 'this is not a JSON value'],
    ['single quotes', "{ 'a': 1 }", 1, 3, 'this is not a JSON value'],
    ['an unquoted key', '{ \n null: 1 }', 2, 2, 'a property name is missing'],
    ['a bad escape', '{ "a": "\\x" }', 1, 8, 'an escape is unknown'],
  ])('%s has a first fault that says where and what', (_, text, line, column, message) => {
    expect(parse(text).broken).toBe(true)
    expect(faults(text)[0]).toEqual({ severity: 'error', line, column, message })
    expect(parse(text).diagnostics[0]?.hint).toBeTruthy()
  })

  it('never loses the error behind many warnings', () => {
    const text = `{${'"a": 1, '.repeat(500)}`
    const { diagnostics, broken } = parse(text)
    expect(broken).toBe(true)
    expect(diagnostics.length).toBeLessThanOrEqual(CONFIG_LIMITS.diagnosticsPerFile * 2)
    expect(diagnostics.filter(({ severity }) => severity === 'error')).toHaveLength(1)
    expect(parseJson(text, 'f').fault).toMatchObject({ message: 'a closing } is missing' })
  })

  it('never throws, whatever the text', () => {
    const token = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '"',
      '1',
      '//',
      '/*',
      '*/',
      '\n',
      ' ',
      '\\',
    )
    fc.assert(
      fc.property(fc.array(token, { maxLength: 40 }), (tokens) => {
        const text = tokens.join('')
        const { broken, diagnostics, root } = parse(text)
        toValue(root)
        expect(broken).toBe(diagnostics.some(({ severity }) => severity === 'error'))
      }),
      { numRuns: 1000 },
    )
  })
})

describe('size', () => {
  it.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('a hundred thousand nested %s are refused at the limit, with the place', (_, open, close) => {
    const text = open.repeat(100_000) + close.repeat(100_000)
    const { broken, diagnostics } = parse(text)
    expect(broken).toBe(true)
    expect(diagnostics[0]).toMatchObject({
      severity: 'error',
      line: 1,
      column: CONFIG_LIMITS.depth * open.length + 1,
      message: expect.stringContaining('nested'),
    })
  })

  it('nesting right at the limit is fine', () => {
    const { depth } = CONFIG_LIMITS
    expect(parse('['.repeat(depth) + ']'.repeat(depth)).broken).toBe(false)
    expect(parse('['.repeat(depth + 1) + ']'.repeat(depth + 1)).broken).toBe(true)
  })

  it('a flat object of a hundred thousand members is read whole', () => {
    const text = `{${Array.from({ length: 100_000 }, (_, index) => `"k${index}": ${index}`).join(',\n')}}`
    const document = parse(text)
    expect(document.diagnostics).toEqual([])
    expect(document.position(member(document.root, 'k99999')?.offset ?? 0).line).toBe(100_000)
  })
})

describe('keeping only a part', () => {
  const keep = ['projects', '/p', 'mcpServers']

  it('reads what is at, below and above the path and nothing else', () => {
    const text =
      '{"big": {"x": [1, {"y": 2}]}, "projects": {"/q": {"mcpServers": {"n": {}}}, "/p": {"mcpServers": {"a": {"args": ["1"]}}, "history": [1]}}}'
    expect(readAs(text, keep)).toEqual({
      projects: { '/p': { mcpServers: { a: { args: ['1'] } } } },
    })
    expect(parse(text, keep).diagnostics).toEqual([])
  })

  it('gives the same part as reading everything', () => {
    const part = fc.constantFrom('projects', '/p', '/q', 'mcpServers', 'a')
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.integer(),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(part, tie('value'), { maxKeys: 4, noNullPrototype: true }),
      ),
    }))
    fc.assert(
      fc.property(value, (data) => {
        const text = JSON.stringify(data, null, 1)
        expect(toValue(nodeAt(parse(text, keep).root, keep))).toEqual(toValue(nodeAt(parse(text).root, keep)))
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    ['a fault inside the part left out', '{"other": {"x": [1, 2}, "projects": {"/p": {"mcpServers": {}}}}'],
    ['a string left open there', '{"other": {"x": "y}, \n "projects": {}}'],
    ['an end that is missing', '{"other": {"x": [1'],
  ])('still says that the text is broken: %s', (_, text) => {
    expect(parse(text, keep).broken).toBe(true)
    expect(faults(text, keep)[0]).toEqual(faults(text)[0])
  })

  it('does not mind how deep the part left out is', () => {
    const deep = '['.repeat(500) + ']'.repeat(500)
    expect(parse(`{"other": ${deep}, "projects": {}}`, keep)).toMatchObject({
      broken: false,
      diagnostics: [],
    })
  })
})

describe('in broken text', () => {
  it.each([
    ['{"a": [1 }', { a: [1] }],
    ['{"a": [{"b": 1 ]}', { a: [{ b: 1 }] }],
    ['{"a": {"b": 1 ], "c": 2}', { a: { b: 1, c: 2 } }],
    ['[{"a": [1 ]', [{ a: [1] }]],
    ['{"a": {"b": [1', { a: { b: [1] } }],
  ])('%s is read as far as it goes, and every container has its end', (text, value) => {
    const { root, broken } = parse(text)
    expect([broken, toValue(root)]).toEqual([true, value])
    const ends = (node: JsonNode | undefined): number[] => {
      if (node?.kind === 'object') return [node.end, ...node.members.flatMap((item) => ends(item.value))]
      return node?.kind === 'array' ? [node.end, ...node.items.flatMap(ends)] : []
    }
    for (const end of ends(root)) expect(end).toBeGreaterThan(1)
  })
})

describe('limits of a document', () => {
  const nested = (depth: number, inner = '1') => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`

  it('are counted: depth is told once, and what follows is still read', () => {
    expect(parse(nested(CONFIG_LIMITS.depth)).broken).toBe(false)
    const text = `{"deep": ${nested(CONFIG_LIMITS.depth)}, "also": ${nested(CONFIG_LIMITS.depth)}, "x": 1}`
    const { broken, diagnostics, root } = parse(text)
    expect([broken, diagnostics.length]).toEqual([true, 1])
    expect(diagnostics[0]?.message).toContain('nested more than')
    expect(toValue(nodeAt(root, ['x']))).toBe(1)
  })

  it('are for what is inside too: nothing below the limit is taken for something above it', () => {
    const below = (depth: number, inner: string): string =>
      depth === 0 ? inner : `{"x": ${below(depth - 1, inner)}}`
    const { root } = parse(below(CONFIG_LIMITS.depth, '{"below": {"below": 1}, "y": [2]}'))
    expect(JSON.stringify(toValue(root))).toBe(
      below(CONFIG_LIMITS.depth, '').replaceAll(': ', ':').replace('"x":}', '}'),
    )
  })

  it('leave room for an error after any number of warnings', () => {
    const most = CONFIG_LIMITS.diagnosticsPerFile
    const repeated = (count: number) => `{${Array.from({ length: count + 1 }, () => '"a": 1').join(',')}}`
    expect(faults(repeated(most))).toHaveLength(most)
    expect(faults(repeated(most + 5))).toHaveLength(most)
    const broken = faults(`${repeated(most + 5).slice(0, -1)}, ]`)
    expect(broken.filter(({ severity }) => severity === 'error').length).toBeGreaterThan(0)
  })

  it('an empty text is no document and no fault', () => {
    for (const text of ['', ' \n\t', '\uFEFF'])
      expect(parse(text)).toMatchObject({ root: undefined, broken: false, diagnostics: [] })
  })
})
