// The bytes of a text after an edit, layout by layout.
import { describe, expect, it } from 'vitest'
import { type Change, editText } from './edit.ts'

const set = (path: string[], value: unknown): Change => ({ do: 'set', path, value })
const remove = (...path: string[]): Change => ({ do: 'remove', path })
const include = (path: string[], item: string): Change => ({ do: 'include', path, item })
const exclude = (path: string[], item: string): Change => ({ do: 'exclude', path, item })

describe('an edit', () => {
  it.each<[string, string, Change, string]>([
    [
      'a member that shares a line with the bracket',
      '{ "a": 1,\n  "b": 2 }',
      set(['c'], 3),
      '{ "a": 1,\n  "b": 2,\n  "c": 3\n}',
    ],
    [
      'a container that opens and closes on other lines',
      '{\n  "a": { "x": 1,\n    "y": 2 }\n}',
      set(['a', 'z'], 3),
      '{\n  "a": { "x": 1,\n    "y": 2,\n    "z": 3\n  }\n}',
    ],
    [
      'an empty container with a comment on its line',
      '{ "a": { /* none */ } }',
      set(['a', 'b'], 1),
      '{ "a": { /* none */\n  "b": 1\n} }',
    ],
    [
      'an empty container on two lines',
      '{\n  "a": {\n  }\n}',
      set(['a', 'b'], 1),
      '{\n  "a": {\n    "b": 1\n  }\n}',
    ],
    [
      'an empty container with two comments',
      '{\n  "a": {\n    // one\n    // two\n  }\n}',
      set(['a', 'b'], 1),
      '{\n  "a": {\n    // one\n    // two\n    "b": 1\n  }\n}',
    ],
    ['an empty list', '{\n  "l": []\n}', include(['l'], 'a'), '{\n  "l": [\n    "a"\n  ]\n}'],
    [
      'a list on several lines',
      '{\n  "l": [\n    "a"\n  ]\n}',
      include(['l'], 'b'),
      '{\n  "l": [\n    "a",\n    "b"\n  ]\n}',
    ],
    [
      'a list on one line with a comma at its end',
      '{ "l": ["a",] }',
      include(['l'], 'b'),
      '{ "l": ["a", "b",] }',
    ],
    ['a minified list', '{"l":["a"]}', include(['l'], 'b'), '{"l":["a","b"]}'],
    [
      'a comment after the last member',
      '{\n  "a": 1 // one\n  // two\n}',
      set(['b'], 2),
      '{\n  "a": 1, // one\n  "b": 2\n  // two\n}',
    ],
    [
      'a comment before the closing bracket on the same line',
      '{\n  "a": 1 /* x */ }',
      set(['b'], 2),
      '{\n  "a": 1, /* x */\n  "b": 2\n}',
    ],
    [
      'a comma after a comment',
      '{\n  "a": 1 /* x */,\n}',
      set(['b'], 2),
      '{\n  "a": 1 /* x */,\n  "b": 2,\n}',
    ],
    [
      'a value that is replaced on its line',
      '{ "a": {"x": 1}, "b": 2 }',
      set(['a'], { y: [1, {}] }),
      '{ "a": { "y": [1, {}] }, "b": 2 }',
    ],
    [
      'a value that is replaced over lines',
      '{\n  "a": {\n    "x": 1\n  }\n}',
      set(['a'], { y: 1 }),
      '{\n  "a": {\n    "y": 1\n  }\n}',
    ],
    [
      'a value that is replaced in a minified text',
      '{"a":{"x":1},"b":2}',
      set(['a'], { y: {} }),
      '{"a":{"y":{}},"b":2}',
    ],
    ['the last of two definitions', '{ "a": 1, "a": 2 }', set(['a'], 3), '{ "a": 1, "a": 3 }'],
    [
      'deep, through objects that are missing',
      '{\n  "a": {}\n}',
      set(['a', 'b', 'c'], 1),
      '{\n  "a": {\n    "b": {\n      "c": 1\n    }\n  }\n}',
    ],
    ['the first of a line is removed', '{"a":1,"b":2}', remove('a'), '{"b":2}'],
    ['the last of a line is removed', '{ "a": 1, "b": 2 }', remove('b'), '{ "a": 1 }'],
    ['the only one of a line is removed', '{ "a": 1 }', remove('a'), '{ }'],
    ['the only one of a minified text is removed', '{"a":1}', remove('a'), '{}'],
    ['one on its own line at the end of the text', '{"x":{\n"a": 1}}', remove('x', 'a'), '{"x":{\n}}'],
    [
      'one with a comment that has a comma',
      '{\n  "a": 1, // x, y\n  "b": 2\n}',
      remove('b'),
      '{\n  "a": 1 // x, y\n}',
    ],
    [
      'one behind a comment with a comma',
      '{\n  "a": 1, /* c, d */ "b": 2\n}',
      remove('b'),
      '{\n  "a": 1 /* c, d */ \n}',
    ],
    ['one behind a text that looks like a comment', '{ "a": "//,", "b": 2 }', remove('b'), '{ "a": "//," }'],
    [
      'one behind a text with a quote',
      '{ "a": "\\"/*,", /* , */ "b": 2 }',
      remove('b'),
      '{ "a": "\\"/*," /* , */ }',
    ],
    ['one with a trailing comma', '{\n  "a": 1,\n  "b": 2,\n}', remove('b'), '{\n  "a": 1,\n}'],
    [
      'one before a comment on its line',
      '{\n  "a": 1, // one\n  "b": 2\n}',
      remove('a'),
      '{\n  // one\n  "b": 2\n}',
    ],
    ['one with a comma on the next line', '{\n  "a": 1\n  , "b": 2\n}', remove('a'), '{\n   "b": 2\n}'],
    ['one of CRLF lines', '{\r\n  "a": 1,\r\n  "b": 2\r\n}', remove('b'), '{\r\n  "a": 1\r\n}'],
    [
      'a nested one',
      '{\n  "s": {\n    "a": 1,\n    "b": 2\n  }\n}',
      remove('s', 'a'),
      '{\n  "s": {\n    "b": 2\n  }\n}',
    ],
    ['one below something that is no object', '{ "s": [1] }', remove('s', 'a'), '{ "s": [1] }'],
    ['one below a list', '{ "s": [{"a":1}] }', remove('s', '0'), '{ "s": [{"a":1}] }'],
    ['an item in the middle', '{ "l": ["a", "b", "c"] }', exclude(['l'], 'b'), '{ "l": ["a", "c"] }'],
    ['the first item', '{ "l": ["a", "b"] }', exclude(['l'], 'a'), '{ "l": ["b"] }'],
    ['the last item', '{ "l": ["a", "b"] }', exclude(['l'], 'b'), '{ "l": ["a" ] }'],
    [
      'items on lines',
      '{\n  "l": [\n    "a",\n    "b"\n  ]\n}',
      exclude(['l'], 'a'),
      '{\n  "l": [\n    "b"\n  ]\n}',
    ],
    ['an item that is no text', '{ "l": [1, "1"] }', exclude(['l'], '1'), '{ "l": [1 ] }'],
    ['from what is no list', '{ "l": "a" }', exclude(['l'], 'a'), '{ "l": "a" }'],
    ['an item that is there among others', '{ "l": [1, "a"] }', include(['l'], 'a'), '{ "l": [1, "a"] }'],
    ['from an empty text', '', exclude(['l'], 'a'), ''],
    ['a member of an empty text is removed', ' \n', remove('a'), ' \n'],
    [
      'a list in an empty text',
      '',
      include(['p', 'l'], 'a'),
      '{\n  "p": {\n    "l": [\n      "a"\n    ]\n  }\n}\n',
    ],
    [
      'a text of CRLF and a comment',
      '// mine\r\n',
      set(['a'], { b: 1 }),
      '// mine\r\n{\r\n  "a": {\r\n    "b": 1\r\n  }\r\n}\r\n',
    ],
    ['spaces before it', '  \n', set(['a'], 1), '{\n  "a": 1\n}\n'],
  ])('of %s', (_, before, change, after) => {
    expect(editText(before, change, 'settings.json')).toBe(after)
  })

  it('refuses what it could not check', () => {
    expect(() => editText('{ "a": 1 }', set([], 3), 'settings.json')).toThrow('cannot be edited safely')
  })
})
