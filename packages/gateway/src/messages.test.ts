// Messages between the gateway and its clients, case by case: what is a message, what an error becomes, who can do what.
import {
  AuthRequired,
  Cancelled,
  InitError,
  InvalidInput,
  IoError,
  JsonRpcError,
  NotFound,
  PermissionDenied,
  ToolError,
} from '@plugboard/core'
import { describe, expect, it } from 'vitest'
import { asToolResult, isUnreachable, outcomeUnknown, SENTENCES, serverFault, wireError } from './errors.ts'
import {
  clientNameOf,
  declared,
  errorReply,
  isId,
  isLegacyVersion,
  isModern,
  META,
  metaOf,
  RPC,
  readCapabilities,
  sort,
  written,
} from './json-rpc.ts'

const rpc = (more: object) => ({ jsonrpc: '2.0', ...more })

describe('a parsed body', () => {
  it.each<[unknown, string, object]>([
    [rpc({ method: 'm' }), 'notification', { method: 'm', params: {} }],
    [rpc({ method: 'm', params: { a: 1 } }), 'notification', { params: { a: 1 } }],
    [rpc({ method: 'm', id: 1 }), 'request', { id: 1, params: {} }],
    [rpc({ method: 'm', id: 'x' }), 'request', { id: 'x' }],
    [rpc({ id: 1, result: {} }), 'reply', { id: 1, result: {} }],
    [
      rpc({ id: 1, error: { code: -1, message: 'm', data: 7 } }),
      'reply',
      { error: { code: -1, message: 'm', data: 7 } },
    ],
    [rpc({ id: 1, error: { code: -1 } }), 'reply', { error: { code: -1, message: '' } }],
  ])('%j is a %s', (value, kind, message) => {
    expect(sort(value)).toMatchObject({ kind, message })
  })

  it.each<[unknown, RegExp, unknown]>([
    [[], /Batches are not served/, null],
    [null, /no JSON-RPC 2.0 message/, null],
    [{ method: 'm', id: 1 }, /no JSON-RPC 2.0 message/, null],
    [rpc({ method: 'm', id: 1, params: [1] }), /Params are given by name/, 1],
    [rpc({ method: 'm', id: null }), /An id is a string or a number/, null],
    [rpc({ method: 'm', id: Number.NaN }), /An id is a string or a number/, null],
    [rpc({}), /has a method, or it answers one/, null],
    [rpc({ id: 1 }), /has a method, or it answers one/, 1],
    [rpc({ id: 1, result: 7 }), /has a method, or it answers one/, 1],
    [rpc({ id: 1, error: { code: 'x' } }), /has a method, or it answers one/, 1],
    [rpc({ id: 1, error: 'x' }), /has a method, or it answers one/, 1],
    [rpc({ id: {}, result: {} }), /has a method, or it answers one/, null],
  ])('%j is refused', (value, message, id) => {
    const found = sort(value)
    expect(found).toMatchObject({ kind: 'bad', reply: { id, error: { code: RPC.invalidRequest } } })
    expect(found.kind === 'bad' && found.reply.error?.message).toMatch(message)
  })

  it.each<[unknown, boolean]>([
    ['', true],
    [0, true],
    [1.5, true],
    [Number.POSITIVE_INFINITY, false],
    [null, false],
    [{}, false],
  ])('the id %j is one: %s', (id, is) => {
    expect(isId(id)).toBe(is)
    expect(errorReply(id, 1, 'm').id).toBe(is ? id : null)
  })

  it('of a version is legacy, or says itself that it is modern', () => {
    expect([isLegacyVersion('2025-06-18'), isLegacyVersion('2026-07-28'), isLegacyVersion('x')]).toEqual([
      true,
      false,
      false,
    ])
    expect(isModern({ _meta: { [META.protocolVersion]: 'v' } })).toBe(true)
    expect([isModern({}), isModern({ _meta: {} }), isModern({ _meta: 'x' })]).toEqual([false, false, false])
    expect(metaOf({ _meta: 7 })).toEqual({})
  })

  it('has data only where there is some', () => {
    expect(errorReply(1, 2, 'm')).toEqual({ jsonrpc: '2.0', id: 1, error: { code: 2, message: 'm' } })
    expect(errorReply(1, 2, 'm', 0).error).toHaveProperty('data', 0)
  })
})

describe('a message that cannot be written', () => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  it('is an error for the one who waits', () => {
    expect(written({ a: 1 })).toBe('{"a":1}')
    expect(JSON.parse(written({ id: 7, result: circle }))).toMatchObject({
      id: 7,
      error: { code: RPC.internal },
    })
    expect(() => written({ id: 7, method: 'm', params: circle })).toThrow()
    expect(() => written({ params: circle })).toThrow()
  })
})

describe('a client', () => {
  const none = { elicitForm: false, elicitUrl: false, sampling: false, samplingTools: false, roots: false }
  it.each<[unknown, Partial<typeof none>, object]>([
    [undefined, {}, {}],
    ['x', {}, {}],
    [{ elicitation: {} }, { elicitForm: true }, { elicitation: { form: {} } }],
    [{ elicitation: { form: {} } }, { elicitForm: true }, { elicitation: { form: {} } }],
    [{ elicitation: { url: {} } }, { elicitUrl: true }, { elicitation: { url: {} } }],
    [
      { elicitation: { form: {}, url: {} } },
      { elicitForm: true, elicitUrl: true },
      { elicitation: { form: {}, url: {} } },
    ],
    [{ elicitation: true }, {}, {}],
    [{ sampling: {} }, { sampling: true }, { sampling: {} }],
    [{ sampling: { tools: {} } }, { sampling: true, samplingTools: true }, { sampling: { tools: {} } }],
    [{ sampling: { tools: true } }, { sampling: true }, { sampling: {} }],
    [{ roots: {} }, { roots: true }, { roots: {} }],
    [{ roots: true }, {}, {}],
  ])('with %j', (value, can, told) => {
    expect(readCapabilities(value)).toEqual({ ...none, ...can })
    expect(declared({ ...none, ...can })).toEqual(told)
  })

  it.each<[unknown, string | undefined]>([
    [{ name: 'x'.repeat(65) }, 'x'.repeat(64)],
    [{ name: 7 }, undefined],
    [undefined, undefined],
  ])('that calls itself %j', (info, name) => expect(clientNameOf(info)).toBe(name))
})

describe('a failure', () => {
  const own = new JsonRpcError(-5, 'theirs', { d: 1 })
  const wrapped = (depth: number): Error =>
    depth === 0 ? own : new Error('x', { cause: wrapped(depth - 1) })

  it('of the server is found behind a few causes', () => {
    expect([0, 3, 4].map((depth) => serverFault(wrapped(depth)))).toEqual([own, own, undefined])
    expect(serverFault('x')).toBeUndefined()
    expect(wireError(own, 'legacy')).toEqual({ code: -5, message: 'theirs', data: { d: 1 } })
    expect(wireError(new JsonRpcError(-5, 'm'), 'legacy')).not.toHaveProperty('data')
  })

  it.each<['legacy' | 'modern', number, number]>([
    ['legacy', RPC.resourceNotFound, RPC.resourceNotFound],
    ['modern', RPC.resourceNotFound, RPC.invalidParams],
    ['modern', -5, -5],
  ])('for a client of the %s era: %i is %i', (era, code, told) => {
    expect(wireError(new JsonRpcError(code, 'm'), era).code).toBe(told)
  })

  it.each<[Error, number, number]>([
    [new NotFound('resource', 'u', { server: 's' }), RPC.resourceNotFound, RPC.invalidParams],
    [new NotFound('tool', 't', { server: 's' }), RPC.invalidParams, RPC.invalidParams],
    [new NotFound('prompt', 'p', { server: 's' }), RPC.invalidParams, RPC.invalidParams],
    [new InvalidInput('x'), RPC.invalidParams, RPC.invalidParams],
    [new IoError('x'), RPC.internal, RPC.internal],
    [new Error('secret'), RPC.internal, RPC.internal],
  ])('%s has the code %i, or %i', (error, legacy, modern) => {
    expect([wireError(error, 'legacy').code, wireError(error, 'modern').code]).toEqual([legacy, modern])
  })

  it('says what to do, and to a client with a narrow view only what it may know', () => {
    const error = new IoError('"s" at /home/me failed.', { hint: 'Look.' })
    expect(wireError(error, 'legacy')).toEqual({
      code: RPC.internal,
      message: '"s" at /home/me failed. Look.',
      data: { code: 'IO_ERROR' },
    })
    expect(wireError(new IoError('x.'), 'legacy').message).toBe('x.')
    expect(wireError(error, 'legacy', true).message).toBe(SENTENCES.IO_ERROR)
    expect(wireError(new InvalidInput('a is missing'), 'legacy', true).message).toBe('a is missing')
    expect(wireError(new NotFound('resource', 'u', { server: 's' }), 'legacy').data).toMatchObject({
      uri: 'u',
    })
    expect(wireError(new NotFound('tool', 't', { server: 's' }), 'legacy').data).not.toHaveProperty('uri')
    expect(wireError(new Error('secret'), 'legacy').message).toBe('Internal error.')
  })

  it.each<[Error, boolean]>([
    [new InitError('x'), true],
    [new IoError('x'), true],
    [new AuthRequired('s'), true],
    [new PermissionDenied('x'), false],
    [new IoError('x', { cause: own }), false],
    [new Error('x'), false],
  ])('%s means that the server could not be reached: %s', (error, is) =>
    expect(isUnreachable(error)).toBe(is),
  )

  it.each<[Error, boolean]>([
    [new PermissionDenied('no'), true],
    [new IoError('x'), true],
    [new ToolError('t', 'x', { cause: own }), false],
    [new NotFound('tool', 't', { server: 's' }), false],
    [new InvalidInput('x'), false],
    [new Cancelled(), false],
    [new Error('x'), false],
  ])('%s is a result for the model: %s', (error, is) => {
    const result = asToolResult(error)
    expect(result !== undefined).toBe(is)
    if (is) expect(result).toMatchObject({ isError: true, content: [{ type: 'text' }] })
  })

  it('as a result has its code and its sentence', () => {
    const text = (narrow: boolean) => {
      const result = asToolResult(new PermissionDenied('The rule x says no.'), narrow)
      const [block] = (result?.content ?? []) as { text: string }[]
      return block?.text
    }
    expect(text(false)).toBe('PERMISSION_DENIED: The rule x says no.')
    expect(text(true)).toBe(`PERMISSION_DENIED: ${SENTENCES.PERMISSION_DENIED}`)
    expect(outcomeUnknown(1, 'it ended')).toMatchObject({
      id: 1,
      error: { data: { code: 'OUTCOME_UNKNOWN' } },
    })
  })
})
