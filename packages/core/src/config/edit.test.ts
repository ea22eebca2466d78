// What an edit promises: the data changes in one place, and the bytes around that place stay.
import fc from 'fast-check'
import { createScanner } from 'jsonc-parser'
import { describe, expect, it } from 'vitest'
import { InvalidInput } from '../errors.ts'
import { type Change, editText } from './edit.ts'
import { nodeAt, parseDocument, toValue } from './parse.ts'

const FILE = 'settings.json'
const set = (path: string[], value: unknown): Change => ({ do: 'set', path, value })
const remove = (...path: string[]): Change => ({ do: 'remove', path })
const include = (path: string[], item: string): Change => ({ do: 'include', path, item })
const exclude = (path: string[], item: string): Change => ({ do: 'exclude', path, item })
const edit = (text: string, change: Change) => editText(text, change, FILE)
const dataOf = (text: string) => toValue(parseDocument(text, FILE).root)

describe('adding a member', () => {
  it('follows the indentation of its neighbours and keeps their comments', () => {
    const before = '{\n    // mine\n    "mcpServers": {\n        "a": { "command": "x" } // first\n    }\n}\n'
    expect(edit(before, set(['mcpServers', 'b'], { command: 'y' }))).toBe(
      '{\n    // mine\n    "mcpServers": {\n        "a": { "command": "x" }, // first\n        "b": {\n            "command": "y"\n        }\n    }\n}\n',
    )
  })

  it('keeps a trailing comma, and writes one after the new member too', () => {
    expect(edit('{\n  "a": 1, // one\n}\n', set(['b'], 2))).toBe('{\n  "a": 1, // one\n  "b": 2,\n}\n')
  })

  it.each([
    [
      'tabs',
      '{\n\t"a": {\n\t\t"x": 1\n\t}\n}',
      set(['a', 'y'], 2),
      '{\n\t"a": {\n\t\t"x": 1,\n\t\t"y": 2\n\t}\n}',
    ],
    ['CRLF', '{\r\n  "a": 1\r\n}\r\n', set(['b'], 2), '{\r\n  "a": 1,\r\n  "b": 2\r\n}\r\n'],
    ['a byte order mark', '\uFEFF{\n  "a": 1\n}', set(['b'], 2), '\uFEFF{\n  "a": 1,\n  "b": 2\n}'],
    ['one line', '{ "a": 1 }', set(['b'], 2), '{ "a": 1, "b": 2 }'],
    ['one line, minified', '{"a":1}', set(['b'], { c: [2] }), '{"a":1,"b":{"c":[2]}}'],
    ['an empty object', '{\n  "a": {}\n}', set(['a', 'b'], 1), '{\n  "a": {\n    "b": 1\n  }\n}'],
    ['an object with only a comment', '{\n  // none yet\n}', set(['a'], 1), '{\n  // none yet\n  "a": 1\n}'],
    ['a missing parent', '{}', set(['a', 'b'], 1), '{\n  "a": {\n    "b": 1\n  }\n}'],
    ['an empty file', '', set(['a'], 1), '{\n  "a": 1\n}\n'],
    ['a file with only a comment', '// mine', set(['a'], 1), '// mine\n{\n  "a": 1\n}\n'],
    ['line comments that end in a lone CR', '{ // c, d\r "a": 1 // e\r}', set(['b'], 2), undefined],
  ])('works in %s', (_, before, change, after) => {
    const result = edit(before, change)
    if (after !== undefined) expect(result).toBe(after)
    expect(commentsOf(result)).toEqual(commentsOf(before))
  })
})

describe('removing a member', () => {
  it.each([
    ['the first', '{\n  "a": 1,\n  "b": 2\n}', remove('a'), '{\n  "b": 2\n}'],
    ['the last', '{\n  "a": 1,\n  "b": 2\n}', remove('b'), '{\n  "a": 1\n}'],
    ['the only one', '{\n  "a": 1\n}', remove('a'), '{\n}'],
    ['one of a line', '{ "a": 1, "b": 2, "c": 3 }', remove('b'), '{ "a": 1, "c": 3 }'],
    [
      'one with a comment',
      '{\n  "a": 1,\n  // about b\n  "b": 2\n}',
      remove('b'),
      '{\n  "a": 1\n  // about b\n}',
    ],
    ['every definition of the key', '{\n  "a": 1,\n  "b": 2,\n  "a": 3\n}', remove('a'), '{\n  "b": 2\n}'],
    ['one that is not there', '{ "a": 1 }', remove('x', 'y'), '{ "a": 1 }'],
  ])('takes out %s', (_, before, change, after) => expect(edit(before, change)).toBe(after))
})

describe('lists', () => {
  it.each([
    ['adds to a list', '{ "l": ["a"] }', include(['l'], 'b'), '{ "l": ["a", "b"] }'],
    ['makes the list', '{ "x": 1 }', include(['l'], 'b'), '{ "x": 1, "l": ["b"] }'],
    ['adds nothing twice', '{ "l": ["a"] }', include(['l'], 'a'), '{ "l": ["a"] }'],
    ['takes every copy out', '{ "l": ["a", "b", "a"] }', exclude(['l'], 'a'), '{ "l": [ "b"] }'],
    ['leaves a missing list missing', '{}', exclude(['l'], 'a'), '{}'],
  ])('%s', (_, before, change, after) => expect(dataOf(edit(before, change))).toEqual(dataOf(after)))

  it('refuses to overwrite something that is no list', () => {
    expect(() => edit('{ "l": "precious" }', include(['l'], 'a'))).toThrow(InvalidInput)
  })
})

describe('what is refused, with nothing changed', () => {
  it.each([
    ['broken JSON, naming the line', '{\n  "a": 1\n  "b": 2\n}', /^settings\.json:3: a comma is missing/],
    ['a document that is no object', '[1]', /must hold an object/],
    ['a parent that is no object', '{ "mcpServers": 3 }', /"mcpServers" must be an object/],
  ])('%s', (_, text, message) => {
    const attempt = () => edit(text, set(['mcpServers', 'a'], {}))
    expect(attempt).toThrow(InvalidInput)
    expect(attempt).toThrow(message)
  })
})

interface Scene {
  readonly text: string
  readonly change: Change
}

const KEYS = ['a', 'b', 'mcpServers', 'x y', 'quo"te', 'back\\slash', '//', '/*', 'ü', '']
const key = fc.constantFrom(...KEYS)
const scalar = fc.oneof(
  fc.constantFrom('s', '// no comment', '/* nor this */', ',', '}', 'a"b\\', '\u2028', 'list-item'),
  fc.integer(),
  fc.constantFrom(null, true, false, 0.5, 1e21),
)
type Tree = { members: [string, Tree][] } | { items: Tree[] } | { scalar: unknown }
const { tree } = fc.letrec<{ tree: Tree; object: Tree }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 3 },
    fc.record({ scalar }),
    tie('object'),
    fc.record({ items: fc.array(tie('tree'), { maxLength: 4 }) }),
  ),
  object: fc.record({ members: fc.array(fc.tuple(key, tie('tree')), { maxLength: 4 }) }),
}))
const object = fc.record({ members: fc.array(fc.tuple(key, tree), { maxLength: 5 }) })

/** As parsed from JSON; parse.ts drops the prototype key. */
const anyValue = fc
  .jsonValue({ maxDepth: 2 })
  .map((value) => JSON.stringify(value))
  .filter((json) => !json.includes('__proto__'))
  .map((json): unknown => JSON.parse(json))

const scene: fc.Arbitrary<Scene> = fc
  .record({
    root: object,
    layout: fc.constantFrom('lines', 'single', 'wild'),
    eol: fc.constantFrom('\n', '\r\n'),
    unit: fc.constantFrom('  ', '    ', '\t', ' '),
    comments: fc.constantFrom(0, 0.2, 0.6),
    trailing: fc.boolean(),
    mark: fc.boolean(),
    dice: fc.infiniteStream(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })),
    kind: fc.constantFrom('set', 'remove', 'include', 'exclude'),
    path: fc.array(key, { minLength: 1, maxLength: 3 }),
    value: anyValue,
    item: fc.constantFrom('list-item', 's', 'new "item"'),
  })
  .map(({ kind, path, value, item, ...how }) => ({
    text: (how.mark ? '\uFEFF' : '') + render(how.root, how),
    change:
      kind === 'set'
        ? set(path, value)
        : kind === 'remove'
          ? remove(...path)
          : { do: kind as 'include' | 'exclude', path, item },
  }))

interface Look {
  readonly layout: string
  readonly eol: string
  readonly unit: string
  readonly comments: number
  readonly trailing: boolean
  readonly dice: fc.Stream<number>
}

/** Writes a tree down in the given look, with comments in every place where JSONC allows one. */
function render(root: Tree, look: Look): string {
  let serial = 0
  const roll = () => look.dice.next().value ?? 0
  const pick = <T>(options: readonly T[]): T => options[Math.floor(roll() * options.length)] as T
  const breakLine = (depth: number) => look.eol + look.unit.repeat(depth)
  const gap = (depth: number): string => {
    let out = look.layout === 'wild' ? pick(['', ' ', '\t', breakLine(depth), look.eol + look.eol]) : ''
    if (roll() < look.comments) {
      const words = `c${serial++} ${pick([', "a": 1', '}', '{ [', '// "', '"', 'plain'])}`
      out += look.layout !== 'single' && roll() < 0.5 ? `// ${words}${breakLine(depth)}` : `/* ${words} */`
      if (look.layout === 'wild') out += pick(['', ' ', breakLine(depth)])
    }
    return out
  }
  const before = (depth: number) => (look.layout === 'lines' ? breakLine(depth) : pick(['', ' ']))
  const list = (open: string, close: string, parts: string[], depth: number): string => {
    const comma = look.trailing && parts.length > 0 ? `${gap(depth)},` : ''
    return open + parts.join(`${gap(depth)},`) + gap(depth) + comma + gap(depth) + before(depth) + close
  }
  const write = (node: Tree, depth: number): string => {
    if ('scalar' in node) return JSON.stringify(node.scalar)
    const lead = () => before(depth + 1) + gap(depth + 1)
    if ('items' in node)
      return list(
        '[',
        ']',
        node.items.map((item) => lead() + write(item, depth + 1)),
        depth,
      )
    const parts = node.members.map(
      ([name, value]) =>
        `${lead()}${JSON.stringify(name)}${gap(depth)}:${look.layout === 'wild' ? '' : ' '}${gap(depth)}${write(value, depth + 1)}`,
    )
    return list('{', '}', parts, depth)
  }
  return gap(0) + write(root, 0) + gap(0) + look.eol
}

/** The scanner's numbers; its own names for them are a const enum, which this build cannot import. */
const SyntaxKind = {
  CommaToken: 5,
  LineCommentTrivia: 12,
  BlockCommentTrivia: 13,
  LineBreakTrivia: 14,
  Trivia: 15,
  EOF: 17,
}

/** Everything but white space and commas, verbatim and in order: what a user would miss if it were lost. */
function wordsOf(text: string): { text: string; at: number; comment: boolean }[] {
  const skip = text.startsWith('\uFEFF') ? 1 : 0
  const scanner = createScanner(text.slice(skip), false)
  const words = []
  for (let kind: number = scanner.scan(); kind !== SyntaxKind.EOF; kind = scanner.scan()) {
    if (kind === SyntaxKind.Trivia || kind === SyntaxKind.LineBreakTrivia || kind === SyntaxKind.CommaToken)
      continue
    const at = scanner.getTokenOffset() + skip
    const comment = kind === SyntaxKind.LineCommentTrivia || kind === SyntaxKind.BlockCommentTrivia
    words.push({ text: text.slice(at, at + scanner.getTokenLength()), at, comment })
  }
  return words
}
const commentsOf = (text: string) =>
  wordsOf(text)
    .filter(({ comment }) => comment)
    .map((word) => word.text)

/** The spans of the old text that a change may consume: the member, item or value it names. */
function touched(text: string, change: Change): { start: number; end: number }[] {
  const skip = text.startsWith('\uFEFF') ? 1 : 0
  const { root } = parseDocument(text, FILE)
  const shift = ({ offset, end }: { offset: number; end: number }) => ({
    start: offset + skip,
    end: end + skip,
  })
  const node = nodeAt(root, change.path)
  if (change.do === 'set') return node ? [shift(node)] : []
  if (change.do === 'include') return []
  if (change.do === 'exclude')
    return node?.kind === 'array'
      ? node.items.filter((item) => item.kind === 'value' && item.value === change.item).map(shift)
      : []
  const parent = nodeAt(root, change.path.slice(0, -1))
  if (parent?.kind !== 'object') return []
  return parent.members
    .filter((member) => member.key === change.path.at(-1))
    .map(({ offset, value }) => shift({ offset, end: value?.end ?? offset }))
}

/** The meaning of the change, on plain data. Undefined: it must be rejected. */
function expected(data: unknown, change: Change): unknown {
  const copy = structuredClone(data) as Record<string, unknown>
  let at: unknown = copy
  for (const step of change.path.slice(0, -1)) {
    if (Array.isArray(at)) return change.do === 'set' || change.do === 'include' ? undefined : data
    const here = at as Record<string, unknown>
    if (!Object.hasOwn(here, step)) {
      if (change.do === 'remove' || change.do === 'exclude') return data
      here[step] = {}
    }
    at = here[step]
    if (typeof at !== 'object' || at === null)
      return change.do === 'set' || change.do === 'include' ? undefined : data
  }
  if (Array.isArray(at)) return change.do === 'set' || change.do === 'include' ? undefined : data
  const here = at as Record<string, unknown>
  const last = change.path.at(-1) ?? ''
  const list = here[last]
  if (change.do === 'set') here[last] = change.value
  else if (change.do === 'remove') delete here[last]
  else if (change.do === 'include') {
    if (Object.hasOwn(here, last) && !Array.isArray(list)) return undefined
    here[last] = Array.isArray(list)
      ? list.includes(change.item)
        ? list
        : [...list, change.item]
      : [change.item]
  } else if (Array.isArray(list)) here[last] = list.filter((item) => item !== change.item)
  return copy
}

const RUNS = { numRuns: 200 }

describe('over any document in any layout', () => {
  it('changes exactly the data it was asked to, or refuses because the path leads through something else', () => {
    fc.assert(
      fc.property(scene, ({ text, change }) => {
        const wanted = expected(dataOf(text), change)
        if (wanted === undefined) {
          expect(() => edit(text, change)).toThrow(InvalidInput)
          return
        }
        const after = edit(text, change)
        expect(parseDocument(after, FILE).broken).toBe(false)
        expect(dataOf(after)).toEqual(wanted)
        expect(after.startsWith('\uFEFF')).toBe(text.startsWith('\uFEFF'))
      }),
      RUNS,
    )
  })

  it('keeps every word outside the touched spans verbatim and in order, comments included', () => {
    fc.assert(
      fc.property(scene, ({ text, change }) => {
        if (expected(dataOf(text), change) === undefined) return
        const spans = touched(text, change)
        const stay = wordsOf(text)
          .filter(({ at }) => !spans.some(({ start, end }) => at >= start && at < end))
          .map((word) => word.text)
        const now = wordsOf(edit(text, change)).map((word) => word.text)
        // What stayed is a prefix and a suffix of the new text; only new tokens are between them (set, include), and
        // nothing at all after a removal.
        if (change.do === 'remove' || change.do === 'exclude') expect(now).toEqual(stay)
        else expect(isSpliced(stay, now)).toBe(true)
      }),
      RUNS,
    )
  })

  it('leaves every byte before and after the place of the change alone', () => {
    fc.assert(
      fc.property(scene, ({ text, change }) => {
        if (expected(dataOf(text), change) === undefined) return
        const spans = touched(text, change)
        if (spans.length > 1) return
        const after = edit(text, change)
        if (after === text) return
        const { from, to } = surroundings(text, change, spans[0])
        expect(after.startsWith(text.slice(0, from))).toBe(true)
        expect(after.endsWith(text.slice(to))).toBe(true)
      }),
      RUNS,
    )
  })

  it('does nothing the second time', () => {
    fc.assert(
      fc.property(scene, ({ text, change }) => {
        if (expected(dataOf(text), change) === undefined) return
        const once = edit(text, change)
        expect(dataOf(edit(once, change))).toEqual(dataOf(once))
        if (change.do !== 'set') expect(edit(once, change)).toBe(once)
      }),
      RUNS,
    )
  })

  it('gives back the same data and comments when a new key is set and removed again', () => {
    fc.assert(
      fc.property(scene, anyValue, ({ text }, value) => {
        const there = edit(text, set(['brand-new'], value))
        const back = edit(there, remove('brand-new'))
        expect(dataOf(back)).toEqual(dataOf(text))
        expect(commentsOf(back)).toEqual(commentsOf(text))
      }),
      RUNS,
    )
  })
})

/** `now` is `stay` with one run of tokens inserted somewhere. */
function isSpliced(stay: readonly string[], now: readonly string[]): boolean {
  let head = 0
  while (head < stay.length && stay[head] === now[head]) head++
  let tail = 0
  while (tail < stay.length - head && stay.at(-1 - tail) === now.at(-1 - tail)) tail++
  return head + tail === stay.length
}

/** From the end of the value before the change to the start of the one after it; commas and comments are between. */
function surroundings(text: string, change: Change, span: { start: number; end: number } | undefined) {
  const skip = text.startsWith('\uFEFF') ? 1 : 0
  let { start, end } = span ?? { start: 0, end: 0 }
  if (!span) {
    // Something new goes to the end of the deepest container on its path that exists.
    const { root } = parseDocument(text, FILE)
    const depth = change.path.findIndex((_, at) => !nodeAt(root, change.path.slice(0, at + 1)))
    const container = nodeAt(root, depth === -1 ? change.path : change.path.slice(0, depth))
    start = end = (container?.end ?? 0) - 1 + skip
  }
  const words = wordsOf(text).filter(({ comment }) => !comment)
  const before = words.findLast(({ at }) => at < start)
  return {
    from: before ? before.at + before.text.length : skip,
    to: words.find(({ at }) => at >= end)?.at ?? text.length,
  }
}
