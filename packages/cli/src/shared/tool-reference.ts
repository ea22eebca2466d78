// tool-reference.ts: one tool in full for a user: what it does, what it takes and returns, down to nested shapes, and a call to
// copy.
import type { Tool } from '@plugboard/core'
import { cleanText } from '@plugboard/core/tools'
import type { Colors } from '../colors.ts'
import { wrapped } from '../wrap.ts'
import { exampleCall } from './example-call.ts'
import { oneLine } from './one-line.ts'
import { schemaLines } from './schema-view.ts'

const DESCRIPTION_CHARS = 20_000

export function toolView(tool: Tool, head: string, columns: number, color: Colors): string {
  const { bold, dim } = color
  const takes = schemaLines({ schema: tool.inputJsonSchema, columns, color })
  const gives =
    tool.outputJsonSchema === undefined ? [] : schemaLines({ schema: tool.outputJsonSchema, columns, color })
  const { serverName, toolName } = tool.mcpInfo
  const example = exampleCall(oneLine(serverName, 120), oneLine(toolName, 200), tool.inputJsonSchema)
  return [
    head,
    ...paragraphs(tool.description, columns - 2).map((line) => `  ${line}`.trimEnd()),
    '',
    ...(takes.length > 0 ? [bold('Arguments'), ...takes] : [dim('It takes no arguments.')]),
    ...(gives.length > 0 ? ['', bold('Returns'), ...gives] : []),
    '',
    bold('Example'),
    `  ${example}`,
    ...(tool.warnings.length > 0
      ? ['', bold('Warnings'), ...tool.warnings.map((line) => `  ${oneLine(line, 300)}`)]
      : []),
    dim(`\nA model knows it as ${tool.name}.`),
  ].join('\n')
}

/** The description keeps its own lines; long ones are wrapped. */
function paragraphs(text: string, columns: number): readonly string[] {
  return cleanText(text)
    .slice(0, DESCRIPTION_CHARS)
    .split('\n')
    .flatMap((line) => wrapped(line.trimEnd(), columns))
}
