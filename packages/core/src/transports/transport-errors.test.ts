import { SdkErrorCode, SdkHttpError, UnauthorizedError } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { IoError } from '../errors.ts'
import { httpStatus, isTerminalError } from './transport-errors.ts'

const coded = (code: string, cause?: unknown) => Object.assign(new Error('x', { cause }), { code })

describe('a terminal fault', () => {
  it('is known by its code, anywhere along the causes', () => {
    for (const code of ['ECONNRESET', 'ETIMEDOUT', 'EPIPE', 'ECONNREFUSED', 'EHOSTUNREACH', 'UND_ERR_SOCKET'])
      expect(
        isTerminalError(new TypeError('fetch failed', { cause: new IoError('y', { cause: coded(code) }) })),
      ).toBe(true)
    expect(isTerminalError(new AggregateError([coded('ECONNREFUSED')], 'all failed'))).toBe(true)
  })

  it('is never known by its message', () => {
    expect(isTerminalError(new Error('read ECONNRESET'))).toBe(false)
    expect(isTerminalError('ECONNRESET')).toBe(false)
    expect(isTerminalError(undefined)).toBe(false)
  })

  it('is looked for within bounds', () => {
    const loop: { cause?: unknown } = {}
    loop.cause = loop
    expect(isTerminalError(loop)).toBe(false)
  })
})

describe('the HTTP status of an error', () => {
  it('is read from the errors of the SDK and along the causes', () => {
    const refused = new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'no', {
      status: 404,
      statusText: 'Not Found',
    })
    expect(httpStatus(refused)).toBe(404)
    expect(httpStatus(new Error('x', { cause: refused }))).toBe(404)
    expect(httpStatus(Object.assign(new Error('x'), { code: 405 }))).toBe(405)
    expect(httpStatus(new UnauthorizedError())).toBe(401)
  })

  it('is not what merely looks like one', () => {
    expect(httpStatus(Object.assign(new Error('404'), { code: -32601 }))).toBeUndefined()
    expect(httpStatus(new Error('404'))).toBeUndefined()
  })
})
