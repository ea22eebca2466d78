// annotations.ts: what a server says about its tools' behaviour, with the protocol's defaults filled in.
// They are claims: permissions/ lets them loosen something only where the user configured the server.
import { isConcurrencySafe } from '../connection/lists.ts'
import { cleanLine } from '../text/sanitize.ts'
import type { ToolDefinition } from './definition.ts'

export interface ToolTraits {
  readonly readOnly: boolean
  readonly destructive: boolean
  readonly idempotent: boolean
  readonly openWorld: boolean
  /** May run beside other calls to the same server. */
  readonly concurrencySafe: boolean
}

const TITLE_CHARS = 120

/** Silence means the worst: a tool that says nothing may write, may destroy and may reach out. */
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

/** The name people see: the title, or the tool's own name. */
export function userFacingName(tool: ToolDefinition): string {
  for (const title of [tool.title, tool.annotations?.title])
    if (title !== undefined) {
      const line = cleanLine(title, TITLE_CHARS)
      if (line !== '') return line
    }
  return cleanLine(tool.name, TITLE_CHARS)
}
