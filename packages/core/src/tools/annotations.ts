// annotations.ts: a server's claims about its tools' behaviour, with the protocol's defaults filled in. permissions/
// lets them loosen something only where the user configured the server.
import { isConcurrencySafe } from '../connection/lists.ts'
import { cleanLine } from '../text/sanitize.ts'
import type { ToolDefinition } from './definition.ts'

/** What is known about a tool: whether it reads, destroys, may be repeated. */
export interface ToolTraits {
  readonly readOnly: boolean
  readonly destructive: boolean
  readonly idempotent: boolean
  readonly openWorld: boolean
  /** May run in parallel with other calls to the same server. */
  readonly concurrencySafe: boolean
}

const TITLE_CHARS = 120

/** A missing hint means the worst case: the tool may write, may destroy and may reach the network. */
export function toolTraits({ annotations: hints = {} }: ToolDefinition): ToolTraits {
  const readOnly = hints.readOnlyHint === true
  return {
    readOnly,
    destructive: !readOnly && hints.destructiveHint !== false,
    idempotent: readOnly || hints.idempotentHint === true,
    openWorld: hints.openWorldHint !== false,
    concurrencySafe: isConcurrencySafe(hints),
  }
}

/** The display name: the title, or the tool's own name. */
export function userFacingName(tool: ToolDefinition): string {
  for (const title of [tool.title, tool.annotations?.title])
    if (title !== undefined) {
      const line = cleanLine(title, TITLE_CHARS)
      if (line !== '') return line
    }
  return cleanLine(tool.name, TITLE_CHARS)
}
