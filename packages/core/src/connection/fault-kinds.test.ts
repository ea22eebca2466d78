// What follows from the fault of a request: was it sent, may it run twice, what the caller reads. Pure functions of errors.
import { describe, expect, it } from 'vitest'
import { RequestAborted, RequestTimedOut } from '../async/wait-errors.ts'
import { AnswerTooLarge, AuthRequired, IoError, PermissionDenied } from '../errors.ts'
import { CALL_LIMITS } from '../limits.ts'
import { HttpStatusError, UnreadableAnswer } from '../transports/transport-errors.ts'
import {
  BadResponse,
  ChannelClosed,
  type ErrorPlace,
  howItEnded,
  isConnectionLost,
  isInterruption,
  isLoggedOut,
  isSessionExpired,
  isTooLarge,
  JsonRpcError,
  leavesOutcomeOpen,
  toPlugboardError,
  unwrapHttp,
  wasNeverSent,
} from './request-errors.ts'
import { RPC } from './server-info.ts'

const coded = (code: string) => Object.assign(new Error(code), { code })
const caused = (cause: unknown, depth: number): Error =>
  depth === 0 ? (cause as Error) : new Error('outer', { cause: caused(cause, depth - 1) })
const http = (status: number, body = '') => new HttpStatusError(status, body, '')
const tooLarge = () => new AnswerTooLarge('s', 1024 * 1024)

describe('a fault', () => {
  // sent and unanswered | certainly not sent | the line broke | the answer leaves it open
  it.each<[string, unknown, boolean, boolean, boolean, boolean]>([
    ['closed after it was sent', new ChannelClosed(true), true, false, true, false],
    ['closed before it was sent', new ChannelClosed(false), false, true, true, false],
    ['closed by an answer too large', new ChannelClosed(true, tooLarge()), true, false, false, false],
    ['ECONNRESET', coded('ECONNRESET'), true, false, true, false],
    ['EPIPE', coded('EPIPE'), true, false, true, false],
    ['ETIMEDOUT', coded('ETIMEDOUT'), true, false, false, false],
    ['ECONNREFUSED', coded('ECONNREFUSED'), false, true, false, false],
    ['ENOTFOUND', coded('ENOTFOUND'), false, true, false, false],
    ['EAI_AGAIN', coded('EAI_AGAIN'), false, true, false, false],
    ['an own I/O error', new IoError('x'), true, false, false, false],
    [
      'an own I/O error of a refused connection',
      new IoError('x', { cause: coded('ECONNREFUSED') }),
      false,
      true,
      false,
      false,
    ],
    ['a code four causes down', caused(coded('ECONNREFUSED'), 4), false, true, false, false],
    ['a code five causes down', caused(coded('ECONNREFUSED'), 5), true, false, false, false],
    ['an answer that is not MCP', new UnreadableAnswer('s', 'HTML'), true, false, false, true],
    ['HTTP 502', http(502), true, false, false, true],
    ['HTTP 504', http(504), true, false, false, true],
    ['HTTP 503', http(503), false, false, false, false],
    ['HTTP 500', http(500), false, false, false, false],
    [
      'HTTP 502 of a reset connection',
      Object.assign(coded('ECONNRESET'), { status: 502 }),
      true,
      false,
      false,
      true,
    ],
    [
      'a reset TLS handshake',
      Object.assign(coded('ECONNRESET'), { cause: coded('ERR_TLS_X') }),
      true,
      false,
      false,
      false,
    ],
    ['an answer of the server', new JsonRpcError(-32000, 'x'), false, false, false, false],
    ['anything else', new Error('x'), false, false, false, false],
    ['no error at all', 'x', false, false, false, false],
  ])('%s', (_, error, interrupted, unsent, lost, open) => {
    expect({
      interrupted: isInterruption(error),
      unsent: wasNeverSent(error),
      lost: isConnectionLost(error),
      open: leavesOutcomeOpen(error),
    }).toEqual({ interrupted, unsent, lost, open })
  })

  it.each<[string, unknown, boolean, boolean]>([
    ['HTTP 404', http(404), true, true],
    ['HTTP 404 without a session', http(404), false, false],
    ['HTTP 400', http(400), true, false],
    ['the code of a forgotten session', new JsonRpcError(RPC.sessionNotFound, 'x'), true, true],
    ['the same without a session', new JsonRpcError(RPC.sessionNotFound, 'x'), false, false],
    ['another code', new JsonRpcError(-32602, 'x'), true, false],
    // An answer of the server is judged by its code, whatever carried it.
    [
      'another code with HTTP 404',
      Object.assign(new JsonRpcError(-32602, 'x'), { status: 404 }),
      true,
      false,
    ],
  ])('%s', (_, error, hadSession, expired) => {
    expect(isSessionExpired(error, hadSession)).toBe(expired)
  })

  it('is a missing login with HTTP 401, and with our own error unless a wider one is needed', () => {
    expect(isLoggedOut(http(401))).toBe(true)
    expect(isLoggedOut(http(403))).toBe(false)
    expect(isLoggedOut(new AuthRequired('s'))).toBe(true)
    const wider = Object.assign(new AuthRequired('s'), { wider: true })
    expect(isLoggedOut(wider)).toBe(false)
  })

  it('is too large only where an answer was', () => {
    expect(isTooLarge(new ChannelClosed(true, tooLarge()))).toBe(true)
    expect(isTooLarge(new ChannelClosed(true))).toBe(false)
    expect(isTooLarge(tooLarge())).toBe(false)
  })
})

describe('a JSON-RPC error in the body of an HTTP error', () => {
  const body = (error: unknown) => JSON.stringify({ jsonrpc: '2.0', error })
  it.each<[string, unknown, boolean]>([
    ['400', http(400, body({ code: -1, message: 'm', data: 7 })), true],
    ['499', http(499, body({ code: -1, message: 'm', data: 7 })), true],
    ['399', http(399, body({ code: -1, message: 'm' })), false],
    ['500', http(500, body({ code: -1, message: 'm' })), false],
    ['no code', http(400, body({ message: 'm' })), false],
    ['no error', http(400, '{}'), false],
    ['an error that is none', http(400, body('x')), false],
    ['no object', http(400, '[]'), false],
    ['half an object', http(400, '{"error"'), false],
    ['no body', http(400), false],
    ['no status', new Error('x'), false],
    ['the SDK’s error', { status: 400, data: { text: body({ code: -1, message: 'm', data: 7 }) } }, true],
    ['the SDK’s error without a text', { status: 400, data: { text: 7 } }, false],
    ['the SDK’s error without data', { status: 400 }, false],
  ])('%s', (_, error, isIt) => {
    const found = unwrapHttp(error)
    if (isIt) expect(found).toMatchObject({ code: -1, message: 'm', data: 7 })
    else expect(found).toBe(error)
    expect(found instanceof JsonRpcError).toBe(isIt)
  })

  it('may have no message, and its text is bounded', () => {
    expect(unwrapHttp(http(400, body({ code: -1 })))).toMatchObject({ message: '' })
    const long = 'x'.repeat(CALL_LIMITS.errorChars)
    expect(new JsonRpcError(1, long).message).toBe(long)
    expect(new JsonRpcError(1, `${long}y`).message).toBe(`${long}…`)
  })
})

describe('what the caller reads', () => {
  const call: ErrorPlace = { server: 's', stage: 'call', method: 'tools/call', name: 't' }
  const start: ErrorPlace = { server: 's', stage: 'connect', tail: ['boom', 'boom'] }
  it.each<[string, unknown, ErrorPlace, string, RegExp]>([
    ['cancelled', new RequestAborted(undefined), call, 'CANCELLED', /cancel/i],
    ['late', new RequestTimedOut(5), call, 'TIMEOUT', /^"s" did not answer t within 5 ms\.$/],
    [
      'late without a name',
      new RequestTimedOut(5),
      { ...call, name: undefined as never },
      'TIMEOUT',
      /answer tools\/call within/,
    ],
    [
      'late without anything',
      new RequestTimedOut(5),
      { server: 's', stage: 'call' },
      'TIMEOUT',
      /answer it within/,
    ],
    [
      'late at start',
      new RequestTimedOut(5),
      start,
      'TIMEOUT',
      /stage "connect" within 5 ms\.\nLast stderr lines:\n {2}boom$/,
    ],
    ['answered', new JsonRpcError(-1, 'no'), call, 'TOOL_ERROR', /no \(-1\)/],
    [
      'answered at start',
      new JsonRpcError(-1, 'no'),
      start,
      'INIT_ERROR',
      /^"s" failed at stage "connect": no \(-1\)\nLast/,
    ],
    [
      'a resource that is not there',
      new JsonRpcError(RPC.resourceNotFound, 'no'),
      { ...call, method: 'resources/read', name: 'u' },
      'RESOURCE_NOT_FOUND',
      /"u"/,
    ],
    [
      'another code of a resource',
      new JsonRpcError(-1, 'no'),
      { ...call, method: 'resources/read' },
      'TOOL_ERROR',
      /no/,
    ],
    ['that code of a tool', new JsonRpcError(RPC.resourceNotFound, 'no'), call, 'TOOL_ERROR', /no/],
    ['not MCP', new BadResponse('odd'), call, 'INIT_ERROR', /not MCP: odd$/],
    ['HTTP 401', http(401), call, 'AUTH_REQUIRED', /s/],
    ['HTTP 403', http(403), call, 'PERMISSION_DENIED', /HTTP 403/],
    [
      'HTTP 403 of a handshake',
      new IoError('x', { cause: http(403) }),
      start,
      'PERMISSION_DENIED',
      /HTTP 403/,
    ],
    ['HTTP 401 of a handshake', new IoError('x', { cause: http(401) }), start, 'AUTH_REQUIRED', /s/],
    ['HTTP 404', http(404), call, 'IO_ERROR', /^"s" answered HTTP 404\.$/],
    ['HTTP 404 at start', http(404), start, 'INIT_ERROR', /^"s" answered HTTP 404 at stage "connect"\.$/],
    ['closed', new ChannelClosed(true), call, 'IO_ERROR', /^The connection to "s" closed\.$/],
    [
      'closed at start',
      new ChannelClosed(true),
      start,
      'INIT_ERROR',
      /closed the connection at stage "connect"\.\nLast/,
    ],
    ['a code', caused(coded('EFOO'), 2), call, 'IO_ERROR', /could not be reached: EFOO\.$/],
    ['a text', new Error('why'), call, 'IO_ERROR', /could not be reached: why\.$/],
    ['no error', 'why', call, 'IO_ERROR', /could not be reached: why\.$/],
    ['a code at start', coded('EFOO'), start, 'INIT_ERROR', /reached: EFOO\.\nLast stderr lines/],
    ['too large at start', tooLarge(), start, 'INIT_ERROR', /more than 1 MiB/],
    ['too large', tooLarge(), call, 'ANSWER_TOO_LARGE', /more than 1 MiB/],
    ['an own error at start', new PermissionDenied('x'), start, 'PERMISSION_DENIED', /^x$/],
  ])('%s', (_, error, place, code, message) => {
    const fault = toPlugboardError(error, place)
    expect(fault.code).toBe(code)
    expect(fault.message).toMatch(message)
    if (error instanceof Error && fault !== error && code !== 'CANCELLED') expect(fault.cause).toBeDefined()
  })

  it.each<[number, RegExp]>([
    [404, /path of the URL/],
    [429, /limits how often/],
    [500, /in trouble/],
    [599, /in trouble/],
    [300, /somewhere else/],
    [399, /somewhere else/],
    [400, /Check the URL, or/],
    [200, /Check the URL, or/],
  ])('HTTP %i says what to do', (status, hint) => {
    expect(toPlugboardError(http(status), call).hint).toMatch(hint)
  })

  it('has no secret of the server in it', () => {
    const hide = (text: string) => text.replaceAll('secret', '…')
    expect(toPlugboardError(new Error('a secret'), { ...call, hide }).message).not.toContain('secret')
  })

  it('says how a server ended, with the last lines that are not said yet', () => {
    const exited = new IoError('"s" exited with code 3.')
    const tail = ['one', 'exited with code 3', 'one']
    expect(howItEnded(new ChannelClosed(true, exited), tail)).toBe(
      ' "s" exited with code 3.\nLast stderr lines:\n  one',
    )
    expect(howItEnded(exited, [])).toBe(' "s" exited with code 3.')
    expect(howItEnded(new ChannelClosed(true), undefined)).toBe('')
    expect(howItEnded(new Error('x'), undefined)).toBe('')
  })
})
