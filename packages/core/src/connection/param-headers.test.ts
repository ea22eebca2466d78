import { describe, expect, it } from 'vitest'
import { encodeHeader } from '../transports/mcp-headers.ts'
import { paramHeaders, scanHeaders } from './param-headers.ts'

const marked = (extra: object) => ({ type: 'object', properties: { a: { type: 'string', ...extra } } })

describe('headers that a tool wants beside its arguments', () => {
  it('are read from wherever the schema marks them', () => {
    const scan = scanHeaders({
      type: 'object',
      properties: {
        region: { type: 'string', 'x-mcp-header': 'Region' },
        deep: { type: 'object', properties: { n: { type: 'integer', 'x-mcp-header': 'N' } } },
        flag: { type: 'boolean', 'x-mcp-header': 'Flag' },
      },
    })
    expect(paramHeaders(scan, { region: 'eu', deep: { n: 3 }, flag: false })).toEqual({
      'Mcp-Param-Region': 'eu',
      'Mcp-Param-N': '3',
      'Mcp-Param-Flag': 'false',
    })
    expect(paramHeaders(scan, { region: null })).toEqual({})
    expect(paramHeaders(scan, undefined)).toEqual({})
  })

  it('are none for a tool that marks none', () => {
    expect(paramHeaders(scanHeaders(marked({})), { a: 'x' })).toBeUndefined()
  })

  it.each([
    ['no header name', marked({ 'x-mcp-header': 'a b' })],
    ['an empty name', marked({ 'x-mcp-header': '' })],
    ['a number', { type: 'object', properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }],
    [
      'a list item',
      {
        type: 'object',
        properties: { a: { type: 'array', items: { type: 'string', 'x-mcp-header': 'A' } } },
      },
    ],
    ['a branch', { anyOf: [marked({ 'x-mcp-header': 'A' })] }],
    ['the root', { type: 'object', 'x-mcp-header': 'A' }],
    [
      'the same name twice',
      {
        type: 'object',
        properties: {
          a: { type: 'string', 'x-mcp-header': 'A' },
          b: { type: 'string', 'x-mcp-header': 'a' },
        },
      },
    ],
  ])('make the tool unusable when marked on %s', (_what, schema) => {
    expect(scanHeaders(schema)).toHaveProperty('fault')
  })

  it('carry what HTTP cannot as marked base64', () => {
    expect(encodeHeader('plain text')).toBe('plain text')
    expect(encodeHeader('grün')).toBe(`=?base64?${Buffer.from('grün').toString('base64')}?=`)
    expect(encodeHeader(' padded')).toMatch(/^=\?base64\?/)
    expect(encodeHeader('line\r\nInjected: yes')).toMatch(/^=\?base64\?[A-Za-z0-9+/=]+\?=$/)
    expect(encodeHeader('=?base64?eA==?=')).not.toBe('=?base64?eA==?=')
    expect(encodeHeader('')).toBe('=?base64??=')
  })

  it('survive a schema that is deeper than any tool needs', () => {
    let schema: object = marked({ 'x-mcp-header': 'A' })
    for (let i = 0; i < 10_000; i++) schema = { type: 'object', properties: { deeper: schema } }
    expect(scanHeaders(schema as Record<string, unknown>)).toEqual({ marked: [] })
  })
})
