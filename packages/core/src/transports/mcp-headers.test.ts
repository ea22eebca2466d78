import type { JSONRPCMessage } from '@modelcontextprotocol/client'
import { describe, expect, it } from 'vitest'
import { META, MODERN_VERSION } from '../protocol.ts'
import { isSendableId, postHeaders, sessionHeaders, streamHeaders } from './mcp-headers.ts'

const legacy = { sessionId: 's1', protocolVersion: '2025-11-25' }
const none = { sessionId: undefined, protocolVersion: undefined }
const asked = (method: string, params: Record<string, unknown> = {}): JSONRPCMessage => ({
  jsonrpc: '2.0',
  id: 1,
  method,
  params,
})
const modern = (method: string, params: Record<string, unknown> = {}) =>
  asked(method, { ...params, _meta: { [META.protocolVersion]: MODERN_VERSION } })

function pairs(flat: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {}
  for (let at = 0; at < flat.length; at += 2) found[flat[at] ?? ''] = flat[at + 1] ?? ''
  return found
}

describe('the headers of a POST', () => {
  it('name the session and the version of a legacy connection, and no method', () => {
    expect(pairs(postHeaders(asked('tools/call', { name: 'x' }), legacy, undefined))).toEqual({
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': 's1',
      'mcp-protocol-version': '2025-11-25',
    })
  })

  it('leave the session out of an initialize, which starts a new one', () => {
    expect(pairs(postHeaders(asked('initialize'), legacy, undefined))).not.toHaveProperty('mcp-session-id')
  })

  it('of a modern request repeat its version, method and name', () => {
    const cases: [JSONRPCMessage, string | undefined][] = [
      [modern('tools/call', { name: 'echo' }), 'echo'],
      [modern('prompts/get', { name: 'grün' }), `=?base64?${Buffer.from('grün').toString('base64')}?=`],
      [modern('resources/read', { uri: 'file:///a' }), 'file:///a'],
      [modern('tasks/cancel', { taskId: 't1' }), 't1'],
      [modern('tools/call', { name: 7 }), undefined],
      [modern('tools/list', { name: 'not mirrored' }), undefined],
    ]
    for (const [message, name] of cases) {
      const headers = pairs(postHeaders(message, none, undefined))
      expect(headers['mcp-protocol-version']).toBe(MODERN_VERSION)
      expect(headers['mcp-method']).toBe('method' in message ? message.method : '')
      expect(headers['mcp-name']).toBe(name)
    }
  })

  it('of a modern notification are those of the connection', () => {
    const meta = { _meta: { [META.protocolVersion]: MODERN_VERSION } }
    const facts = { sessionId: undefined, protocolVersion: MODERN_VERSION }
    const headers = pairs(postHeaders({ jsonrpc: '2.0', method: 'notifications/x', params: meta }, facts, {}))
    expect(headers).toMatchObject({ 'mcp-protocol-version': MODERN_VERSION })
    expect(headers).not.toHaveProperty('mcp-method')
  })

  it('take those of one call, except what the protocol or the login sets', () => {
    const extra = {
      'Mcp-Param-Region': 'eu',
      Authorization: 'x',
      'Mcp-Method': 'y',
      Accept: '*/*',
      DPoP: 'z',
    }
    const headers = pairs(postHeaders(modern('tools/list'), none, extra))
    expect(headers).toMatchObject({ 'mcp-param-region': 'eu', 'mcp-method': 'tools/list' })
    expect(headers['accept']).toContain('text/event-stream')
    expect(headers).not.toHaveProperty('authorization')
    expect(headers).not.toHaveProperty('dpop')
  })
})

describe('the headers of the other requests', () => {
  it('name the session, and where a stream was cut', () => {
    expect(pairs(streamHeaders(legacy, 'e7'))).toEqual({
      accept: 'text/event-stream',
      'mcp-session-id': 's1',
      'mcp-protocol-version': '2025-11-25',
      'last-event-id': 'e7',
    })
    expect(pairs(streamHeaders(none, undefined))).toEqual({ accept: 'text/event-stream' })
    expect(pairs(sessionHeaders(legacy))).toEqual({
      'mcp-session-id': 's1',
      'mcp-protocol-version': '2025-11-25',
    })
  })

  it('carry an event id as the bytes that it came in, and no id that HTTP cannot carry', () => {
    const [, , , sent = ''] = streamHeaders(none, 'žluť')
    expect(Buffer.from(sent, 'latin1').toString('utf8')).toBe('žluť')
    expect(isSendableId('žluť/7 ok')).toBe(true)
    expect(isSendableId('a\u0001b')).toBe(false)
    expect(isSendableId('x'.repeat(5000))).toBe(false)
  })
})
