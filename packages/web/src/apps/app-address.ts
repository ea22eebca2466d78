// app-address.ts: where the app of a tool is, if it has one: `_meta.ui.resourceUri`, or the older spelling.
import type { ToolDefinition } from '../state/types.ts'

export function appAddress({ meta }: ToolDefinition): string | undefined {
  const ui = meta?.['ui']
  const address =
    typeof ui === 'object' && ui !== null
      ? (ui as { readonly resourceUri?: unknown }).resourceUri
      : meta?.['ui/resourceUri']
  return typeof address === 'string' && address.startsWith('ui://') ? address : undefined
}
