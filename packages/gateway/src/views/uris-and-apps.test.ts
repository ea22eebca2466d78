// Addresses of resources and of MCP Apps: which server they lead to, and who may call what.
import { describe, expect, it } from 'vitest'
import { forModelOnly, hasUi, isFor, withPublicUi } from './apps.ts'
import { fitsTemplate, fromPublic, isKeptResult, toPublic } from './resource-uris.ts'

describe('a public address', () => {
  it.each([
    ['one', 'test://note', 'plugboard://one/test://note'],
    ['a/b c', 'x:y', 'plugboard://a%2Fb%20c/x:y'],
    ['one', 'ui://app/main.html', 'ui://plugboard/one/app/main.html'],
    ['results', 'test://x', 'plugboard://results/test://x'],
  ])('of %s, %s', (server, uri, wanted) => {
    expect(toPublic({ server, uri })).toBe(wanted)
    expect(fromPublic(wanted)).toEqual({ server, uri })
  })

  it.each([
    'test://note',
    'plugboard://status',
    'plugboard://%zz/x',
    'ui://app/x',
    'ui://plugboard/one',
    `plugboard://results/${'a'.repeat(22)}`,
    `plugboard://results/${'a'.repeat(22)}?from=1`,
    'xplugboard://one/x',
  ])('is not %s', (uri) => {
    expect(fromPublic(uri)).toBeUndefined()
  })

  it.each([
    [`plugboard://results/${'a'.repeat(22)}`, true],
    [`plugboard://results/${'a'.repeat(22)}?from=1`, true],
    [`plugboard://results/0123456789ab.${'a'.repeat(22)}?from=1`, true],
    [`plugboard://results/0123456789AB.${'a'.repeat(22)}`, false],
    [`plugboard://results/${'a'.repeat(23)}`, false],
    ['plugboard://results/test://x', false],
    [`x://results/${'a'.repeat(22)}`, false],
  ])('%s of a kept result: %s', (uri, wanted) => {
    expect(isKeptResult(uri)).toBe(wanted)
  })

  it.each([
    ['a://x', 'a://x', true],
    ['a://x', 'a://xy', false],
    ['a://x', 'a://', false],
    ['a://{id}', 'a://7', true],
    ['a://{id}', 'a://', true],
    ['a://{id}', 'b://7', false],
    ['a://{id}/end', 'a://7/end', true],
    ['a://{id}/end', 'a:///end', true],
    ['a://{id}/end', 'a://end', false],
    ['a://{id}/end', 'a://7/ending', false],
    ['a://{x}/b/{y}', 'a://1/b/2', true],
    ['a://{x}/b/{y}', 'a://1/c/2', false],
    ['a://{x}b{y}b', 'a://bb', true],
    ['a://{x}b{y}b', 'a://b', false],
    ['{x}', 'anything', true],
    ['{x}mid{y}', 'mid', true],
    ['{x}mid{y}', 'none', false],
  ])('of the template %s fits %s: %s', (template, uri, wanted) => {
    expect(fitsTemplate(uri, template)).toBe(wanted)
  })
})

describe('a tool with an app', () => {
  const PUBLIC = 'ui://plugboard/one/app'
  it.each([
    [undefined, undefined],
    ['x', 'x'],
    [{ a: 1 }, { a: 1 }],
    [{ ui: { a: 1 } }, { ui: { a: 1 } }],
    [
      { ui: { resourceUri: 'ui://app', a: 1 }, b: 2 },
      { ui: { resourceUri: PUBLIC, a: 1 }, b: 2 },
    ],
    [{ ui: { resourceUri: 'https://app' } }, { ui: { resourceUri: 'https://app' } }],
    [{ ui: { resourceUri: 'x/ui://' } }, { ui: { resourceUri: 'x/ui://' } }],
    [{ ui: { resourceUri: 5 } }, { ui: { resourceUri: 5 } }],
    [{ 'ui/resourceUri': 'ui://app' }, { 'ui/resourceUri': PUBLIC }],
    [
      { 'ui/resourceUri': 'ui://app', ui: 5 },
      { 'ui/resourceUri': PUBLIC, ui: 5 },
    ],
    [
      { 'ui/resourceUri': 'ui://app', ui: { resourceUri: 'ui://app' } },
      { 'ui/resourceUri': PUBLIC, ui: { resourceUri: PUBLIC } },
    ],
  ])('%j has addresses of its server', (_meta, wanted) => {
    const definition = { name: 'n', ...(_meta !== undefined && { _meta }) }
    const made = withPublicUi(definition, 'one')
    expect(made).toStrictEqual({ name: 'n', ...(wanted !== undefined && { _meta: wanted }) })
    if (JSON.stringify(made) === JSON.stringify(definition) && !JSON.stringify(made).includes('resourceUri'))
      expect(made).toBe(definition)
  })

  it.each([
    [undefined, false, true, true],
    ['x', false, true, true],
    [{}, false, true, true],
    [{ ui: {} }, true, true, true],
    [{ 'ui/resourceUri': 'ui://x' }, true, true, true],
    [{ 'ui/resourceUri': 5 }, false, true, true],
    [{ ui: { visibility: ['model'] } }, true, true, false],
    [{ ui: { visibility: ['app'] } }, true, false, true],
    [{ ui: { visibility: [] } }, true, false, false],
    [{ ui: { visibility: 'app' } }, true, true, true],
  ])('%j: shown %s, for models %s, for apps %s', (_meta, shown, model, app) => {
    const definition = { _meta }
    expect([hasUi(definition), isFor('model', definition), isFor('app', definition)]).toEqual([
      shown,
      model,
      app,
    ])
  })

  it.each([
    [undefined, { ui: { visibility: ['model'] } }],
    [
      { a: 1, ui: { b: 2, visibility: ['app'] } },
      { a: 1, ui: { b: 2, visibility: ['model'] } },
    ],
    [{ ui: 5 }, { ui: { visibility: ['model'] } }],
  ])('%j can be kept from apps', (_meta, wanted) => {
    expect(forModelOnly({ name: 'n', _meta })).toEqual({ name: 'n', _meta: wanted })
  })
})
