// type-declarations.ts: a TypeScript file that fills `ToolTypes`, so that calls of the tools and their results are checked
// by the compiler. The same tools give the same text.
import { comment, typeScriptOf } from './schema/typescript.ts'
import type { Tool } from './tool.ts'

type DeclaredTool = Pick<Tool, 'description' | 'inputJsonSchema' | 'outputJsonSchema' | 'mcpInfo'>

const HEADER = [
  '// Written by `plugboard generate types`. Do not edit: run it again when the tools change.',
  "import '@plugboard/core'",
]

/**
 * The declarations of these tools, by `server.tool` in alphabetical order.
 *
 * @example
 * console.log(typeDeclarations(board.tools()).includes('notes.say')) // true
 */
export function typeDeclarations(tools: readonly DeclaredTool[]): string {
  const entries = tools
    .map((tool) => ({ name: `${tool.mcpInfo.serverName}.${tool.mcpInfo.toolName}`, tool }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
  return [
    ...HEADER,
    '',
    "declare module '@plugboard/core' {",
    '  interface ToolTypes {',
    ...entries.flatMap(({ name, tool }) => declaration(name, tool)),
    '  }',
    '}',
    '',
  ].join('\n')
}

function declaration(name: string, { description, inputJsonSchema, outputJsonSchema }: DeclaredTool) {
  const indent = '      '
  return [
    ...comment({ description }, '    '),
    `    ${typeScriptOf({ const: name })}: {`,
    `${indent}arguments: ${objectType(typeScriptOf(inputJsonSchema, {}, indent))}`,
    `${indent}result: ${outputJsonSchema === undefined ? 'unknown' : typeScriptOf(outputJsonSchema, { output: true }, indent)}`,
    '    }',
  ]
}

/** Arguments are always an object, whatever a schema leaves out. */
function objectType(type: string): string {
  return type === 'unknown' ? 'Readonly<Record<string, unknown>>' : type
}
