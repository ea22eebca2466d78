// print-result.ts: the result of a call as the command prints it: on stdout what was said, on stderr what is worth a note.
import type { Tool, ToolResult } from '@plugboard/core'
import { isObject } from '@plugboard/core/json'
import type { BoundTool } from '@plugboard/core/tools'
import type { Invocation } from '../context.ts'
import { shortPath } from '../output.ts'
import { callJson, pipedText, shownText } from '../shared/call-output.ts'
import { forStdout, oneLine } from '../shared/one-line.ts'
import { isTerminal } from '../streams.ts'
import { printImages } from '../terminal/inline-image.ts'

export async function printCall(
  invocation: Invocation,
  tool: Tool,
  result: ToolResult,
  durationMs: number,
): Promise<void> {
  const { output } = invocation
  const { serverName, toolName } = tool.mcpInfo
  const { isError, savedFiles, warnings } = result
  const text = isTerminal(1) ? shownText(result) : pipedText(result)
  output.result(callJson(tool, result, durationMs), () => text.said.map(forStdout).join('\n'))
  if (output.json) return
  if (isTerminal(1)) await printImages(result.content, invocation.host.env)
  for (const line of text.notes) output.note(oneLine(line, 400))
  if (!isTerminal(1))
    for (const { path, mimeType, bytes } of savedFiles)
      output.note(`Saved to ${shortPath(path)} (${mimeType}, ${bytes} bytes).`)
  if (hasApp(tool)) output.note('This tool has an app; `plugboard ui` shows it in the browser.')
  if (isError) output.note(output.errorColor.red(`${serverName}.${toolName} answered with an error.`))
  if (output.verbose) for (const warning of warnings) output.note(oneLine(warning, 300))
}

/** MCP Apps: `_meta.ui.resourceUri` of the tool's definition. */
function hasApp(tool: Tool): boolean {
  // The tools of both boards are bound ones, which know their definition.
  const { meta } = (tool as BoundTool).definition
  const ui = isObject(meta) ? meta.ui : undefined
  return isObject(ui) && typeof ui.resourceUri === 'string'
}
