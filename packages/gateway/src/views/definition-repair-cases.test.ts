// What becomes of each member of a definition that a server got right, or wrong.
import { describe, expect, it } from 'vitest'
import { listedPrompt, listedResource, listedTool } from './definition-repair.ts'

const NONE = { type: 'object' }
const icon = { src: 'data:,' }

describe('a member of a tool', () => {
  it.each([
    ['title', 'x', true],
    ['title', 5, false],
    ['description', '', true],
    ['description', null, false],
    ['_meta', { a: 1 }, true],
    ['_meta', [], false],
    ['icons', [], true],
    ['icons', [icon], true],
    ['icons', [{ ...icon, mimeType: 'a/b', sizes: ['1x1'], theme: 'light' }], true],
    ['icons', [{ ...icon, theme: 'dark', more: 1 }], true],
    ['icons', [{ ...icon, theme: 'red' }], false],
    ['icons', [{ ...icon, sizes: '1x1' }], false],
    ['icons', [{ ...icon, sizes: ['1x1', 2] }], false],
    ['icons', [{ ...icon, mimeType: 1 }], false],
    ['icons', [{ mimeType: 'a/b' }], false],
    ['icons', [icon, { src: 1 }], false],
    ['icons', [icon, 'x'], false],
    ['icons', icon, false],
    ['unknown', 5, true],
  ])('%s: %j', (key, value, isKept) => {
    expect(listedTool({ name: 'n', inputSchema: NONE, [key]: value })).toEqual({
      name: 'n',
      inputSchema: NONE,
      ...(isKept && { [key]: value }),
    })
  })

  it.each([
    [
      { readOnlyHint: true, title: 'x', more: 1 },
      { readOnlyHint: true, title: 'x', more: 1 },
    ],
    [{ readOnlyHint: 'yes', destructiveHint: false }, { destructiveHint: false }],
    [{ idempotentHint: 1, openWorldHint: true, title: 5 }, { openWorldHint: true }],
    ['x', undefined],
  ])('annotations: %j', (annotations, wanted) => {
    const listed = listedTool({ name: 'n', inputSchema: NONE, annotations })
    expect(listed.annotations).toEqual(wanted)
    expect('annotations' in listed).toBe(wanted !== undefined)
  })

  it.each([
    [{ taskSupport: 'optional' }, undefined],
    [{ taskSupport: 'optional', other: 1 }, { other: 1 }],
    [{ other: 1 }, { other: 1 }],
    ['x', undefined],
  ])('execution: %j', (execution, wanted) => {
    const listed = listedTool({ name: 'n', inputSchema: NONE, execution })
    expect(listed.execution).toEqual(wanted)
    expect('execution' in listed).toBe(wanted !== undefined)
  })
})

/** `undefined`: an output schema is left out, an input schema is any object. */
const ROOTS: readonly [unknown, unknown][] = [
  [
    { type: 'object', a: 1 },
    { type: 'object', a: 1 },
  ],
  [{ a: 1 }, { type: 'object', a: 1 }],
  [{ type: ['object', 'null'] }, { type: 'object' }],
  [{ type: ['string', 'null'] }, undefined],
  [{ type: 'string' }, undefined],
  [{ type: 5 }, undefined],
  ['x', undefined],
  [null, undefined],
  [
    { type: 'object', $schema: 'http://x' },
    { type: 'object', $schema: 'http://x' },
  ],
  [{ type: 'object', $schema: 5 }, { type: 'object' }],
  [{ type: 'object', properties: 5 }, { type: 'object' }],
  [
    { type: 'object', properties: { a: {} } },
    { type: 'object', properties: { a: {} } },
  ],
  [
    { type: 'object', properties: { a: true, b: false, c: 'x', d: { type: 'string' } } },
    { type: 'object', properties: { a: {}, b: { not: {} }, c: {}, d: { type: 'string' } } },
  ],
  [
    { type: 'object', properties: { a: {}, b: true } },
    { type: 'object', properties: { a: {}, b: {} } },
  ],
  [
    { type: 'object', required: ['a'] },
    { type: 'object', required: ['a'] },
  ],
  [
    { type: 'object', required: ['a', 5] },
    { type: 'object', required: ['a'] },
  ],
  [{ type: 'object', required: 'a' }, { type: 'object' }],
  [
    { $schema: 'http://x', properties: { a: true }, required: [1], more: 1 },
    { $schema: 'http://x', more: 1, type: 'object', properties: { a: {} }, required: [] },
  ],
]

it.each(ROOTS)('a schema %j', (schema, wanted) => {
  const listed = listedTool({ name: 'n', inputSchema: schema, outputSchema: schema })
  expect(listed).toEqual({
    name: 'n',
    inputSchema: wanted ?? { type: 'object' },
    ...(wanted !== undefined && { outputSchema: wanted }),
  })
  if (schema !== null) expect('outputSchema' in listed).toBe(wanted !== undefined)
})

it('what was right is the same object: nothing is copied', () => {
  for (const [schema, wanted] of ROOTS)
    if (JSON.stringify(schema) === JSON.stringify(wanted))
      expect(listedTool({ name: 'n', inputSchema: schema }).inputSchema).toBe(schema)
  const right = { uri: 'a', name: 'n', size: 1 }
  expect(listedResource({ ...right, annotations: { priority: 1 } })).toEqual({
    ...right,
    annotations: { priority: 1 },
  })
})

it.each([
  [undefined, undefined],
  ['x', undefined],
  [[], []],
  [
    [{ name: 'a', required: true, title: 'A', description: 'd' }],
    [{ name: 'a', required: true, title: 'A', description: 'd' }],
  ],
  [[{ name: 'a', required: 'yes', title: 1, description: 2 }, { name: 5 }, 'x'], [{ name: 'a' }]],
])('the arguments %j of a prompt', (args, wanted) => {
  const listed = listedPrompt({ name: 'n', title: 5, ...(args !== undefined && { arguments: args }) })
  expect(listed).toEqual({ name: 'n', ...(wanted && { arguments: wanted }) })
  expect('arguments' in listed).toBe(wanted !== undefined)
})

it.each([
  ['mimeType', 'a/b', true],
  ['mimeType', 5, false],
  ['size', 0, true],
  ['size', Number.POSITIVE_INFINITY, false],
  ['size', '5', false],
  ['title', 5, false],
  ['annotations', 'x', false],
  ['more', null, true],
])('%s: %j of a resource', (key, value, isKept) => {
  expect(listedResource({ uri: 'u', [key]: value })).toEqual({ uri: 'u', ...(isKept && { [key]: value }) })
})

it.each([
  ['audience', ['user', 'assistant'], true],
  ['audience', ['user', 'model'], false],
  ['audience', [], true],
  ['audience', 'user', false],
  ['priority', 0, true],
  ['priority', 1, true],
  ['priority', 0.5, true],
  ['priority', -0.1, false],
  ['priority', 1.1, false],
  ['priority', '1', false],
  ['lastModified', '2026-01-02T03:04:05Z', true],
  ['lastModified', '2026-01-02T03:04+01:00', true],
  ['lastModified', 'yesterday', false],
  ['lastModified', 5, false],
  ['more', 5, true],
])('the annotation %s: %j of a resource', (key, value, isKept) => {
  expect(listedResource({ uri: 'u', annotations: { [key]: value } })).toEqual({
    uri: 'u',
    annotations: isKept ? { [key]: value } : {},
  })
})
