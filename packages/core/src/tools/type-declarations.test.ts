// TypeScript declarations from schemas: what the types say, that hostile text stays within its comment or literal, and
// that the compiler accepts the declarations of every real tool.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from '@babel/parser'
import { describe, expect, it } from 'vitest'
import { listAllTools } from '../../../../bench/lib/servers.mjs'
import { readToolList } from './definition.ts'
import { typeScriptOf } from './schema/typescript.ts'
import { typeDeclarations } from './type-declarations.ts'

const TSC = fileURLToPath(new URL('../../../../node_modules/typescript/bin/tsc', import.meta.url))

const flat = (schema: unknown) => typeScriptOf(schema).replaceAll(/\s+/g, ' ')

describe('a schema as a type', () => {
  it.each([
    [{ type: 'string' }, 'string'],
    [{ type: ['integer', 'null'] }, 'number | null'],
    [{ enum: ['a', 1, null, true] }, '"a" | 1 | null | true'],
    [{ const: 'x' }, '"x"'],
    [{ type: 'array', items: { type: 'string' } }, 'readonly string[]'],
    [{ type: 'array', items: { enum: ['a', 'b'] } }, 'readonly ("a" | "b")[]'],
    [
      { type: 'array', items: { type: 'array', items: { type: 'number' } } },
      'readonly (readonly number[])[]',
    ],
    [
      { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], minItems: 1, items: false },
      'readonly [string, number?]',
    ],
    [
      { type: 'object', properties: { a: { type: 'string' }, b: {} }, required: ['a'] },
      '{ readonly a: string readonly b?: unknown }',
    ],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'Readonly<Record<string, number>>'],
    [{ type: 'object', properties: {}, additionalProperties: false }, 'Readonly<Record<string, never>>'],
    [
      { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true },
      '{ readonly a?: string readonly [key: string]: unknown }',
    ],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, 'string | number'],
    [
      { allOf: [{ properties: { a: {} } }, { properties: { b: {} } }] },
      '{ readonly a?: unknown } & { readonly b?: unknown }',
    ],
    [
      { type: 'array', items: { anyOf: [{ properties: { a: {} } }, { properties: { b: {} } }] } },
      'readonly ({ readonly a?: unknown } | { readonly b?: unknown })[]',
    ],
    [{ $ref: '#/$defs/x', $defs: { x: { type: 'string' } } }, 'string'],
    [{ $ref: 'https://example.com/x.json' }, 'unknown'],
    [{ type: 'string', nullable: true }, 'string | null'],
    [{ type: 'objekt' }, 'unknown'],
    [true, 'unknown'],
    [false, 'never'],
  ])('%j', (schema, type) => {
    expect(flat(schema)).toBe(type)
  })

  it('ends where a type contains itself', () => {
    const list = { type: 'object', properties: { next: { $ref: '#' }, value: { type: 'number' } } }
    expect(flat(list)).toContain('readonly value?: number')
    expect(flat({ $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } })).toBe(
      'unknown',
    )
  })
})

describe('declarations', () => {
  it('have doc comments, and text of a server cannot leave its place', () => {
    const text = typeDeclarations([
      {
        mcpInfo: { serverName: 'x', toolName: 'a"b\u2028\u202ec' },
        description: 'Ends */ the comment\nand goes on',
        inputJsonSchema: {
          type: 'object',
          properties: {
            'key"\n': { type: 'string', description: '*/ evil(); /*', default: '*/' },
            kind: { enum: ['a"; evil()', '\u2029'] },
          },
        },
        outputJsonSchema: undefined,
      },
    ])
    expect(compilerErrors({ 'tools.d.ts': text })).toEqual([])
    // An import and a module: nothing that a server wrote became a statement.
    const { program } = parse(text, { sourceType: 'module', plugins: [['typescript', { dts: true }]] })
    expect(program.body).toHaveLength(2)
    expect(text).not.toMatch(/[\u2028\u2029\u202e]/)
  })

  it('of every real tool compile', async () => {
    const lists = await listAllTools()
    const tools = [...lists].flatMap(([server, list]) =>
      readToolList(list).tools.map((tool) => ({
        mcpInfo: { serverName: server, toolName: tool.name },
        description: tool.description ?? '',
        inputJsonSchema: tool.inputSchema,
        outputJsonSchema: tool.outputSchema,
      })),
    )
    expect(tools.length).toBeGreaterThan(150)
    expect(compilerErrors({ 'tools.d.ts': typeDeclarations(tools) })).toEqual([])
    expect(typeDeclarations([...tools].reverse())).toBe(typeDeclarations(tools))
  }, 120_000)
})

/** What the compiler says of the files, with a stand-in for the package that they import. */
function compilerErrors(files: Readonly<Record<string, string>>): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'plugboard-types-'))
  try {
    const paths = Object.entries({
      ...files,
      'core.d.ts': 'declare module "@plugboard/core" { interface ToolTypes {} }',
    }).map(([name, text]) => {
      const path = join(folder, name)
      writeFileSync(path, text)
      return path
    })
    const flags = ['--strict', '--noEmit', '--types', '']
    execFileSync(process.execPath, [TSC, ...flags, ...paths], { cwd: folder, encoding: 'utf8' })
    return []
  } catch (error) {
    return String((error as { stdout?: string }).stdout ?? error).split('\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
