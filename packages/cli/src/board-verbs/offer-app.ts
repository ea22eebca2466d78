// offer-app.ts: a tool with an MCP App can be opened in the page of the board after it was called at a terminal.
import type { Tool } from '@plugboard/core'
import { isObject } from '@plugboard/core/json'
import type { BoundTool } from '@plugboard/core/tools'
import type { Invocation } from '../context.ts'
import { isTerminal } from '../streams.ts'

/** Longer arguments are not part of an address. */
const ADDRESS_CHARS = 2000

/** At a terminal the tool can be opened in the page, with these arguments in its form: calling it there shows its app. */
export async function offerApp(
  invocation: Invocation,
  tool: Tool,
  args: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { output, host } = invocation
  if (output.json || output.quiet) return
  const canAsk = isTerminal(0) && isTerminal(1) && isTerminal(2) && host.platform !== 'win32'
  if (!canAsk || invocation.flag('no-resident'))
    return output.note('This tool has an app; `plugboard ui` shows it in the browser.')
  const { confirms } = await import('../terminal/confirm.ts')
  const head = 'This tool has an app. Open it in the browser?'
  if (!(await confirms({ head }, output.errorColor))) return
  const { pageAddress } = await import('../resident/page-address.ts')
  const text = JSON.stringify(args)
  const given = text.length <= ADDRESS_CHARS ? [text] : []
  const url = await pageAddress(invocation, 'tools', tool.name, ...given)
  await (await import('./ui.ts')).showPage(invocation, url, true)
}

/** MCP Apps: `_meta.ui.resourceUri` of the tool's definition. */
export function hasApp(tool: Tool): boolean {
  // The tools of both boards are bound ones, which know their definition.
  const { meta } = (tool as BoundTool).definition
  const ui = isObject(meta) ? meta.ui : undefined
  return isObject(ui) && typeof ui.resourceUri === 'string'
}
