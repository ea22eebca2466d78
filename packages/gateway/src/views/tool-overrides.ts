// tool-overrides.ts: what the settings say about how single tools are shown: other names, texts and hints, or not at all. Only
// what clients are listed changes; permissions, hooks, the audit log and the tool lock see the tool as its server defines it.
import { InvalidInput } from '@plugboard/core/errors'
import { coversTool, type ParsedRule, parseRule } from '@plugboard/core/permissions'
import { isObject, type Json } from '../json-rpc.ts'

export interface ToolOverride {
  readonly name?: string | undefined
  readonly title?: string | undefined
  readonly description?: string | undefined
  readonly annotations?: Readonly<Record<string, boolean | string>> | undefined
  readonly hidden?: boolean | undefined
  /** Its result is never kept back. */
  readonly result?: 'whole' | undefined
}

interface Row {
  readonly rule: ParsedRule
  readonly override: ToolOverride
}

export class ToolOverrides {
  readonly #rows: readonly Row[]

  /** By pattern, as for `expose`. A later row wins. Rejects patterns and names that cannot be meant. */
  constructor(given: Readonly<Record<string, ToolOverride>> = {}) {
    this.#rows = Object.entries(given).map(([pattern, override]) => {
      const read = parseRule(pattern, 'expose')
      if (!read.ok)
        throw new InvalidInput(`"tools" in the settings: ${JSON.stringify(pattern)} ${read.problem}.`, {
          hint: read.hint,
        })
      if (override.name !== undefined && pattern.includes('*'))
        throw new InvalidInput(
          `"tools" in the settings: ${JSON.stringify(pattern)} gives several tools one name.`,
          {
            hint: 'Write one key for each tool that gets another name.',
          },
        )
      return { rule: read, override }
    })
  }

  of(server: string, tool: string, name: string): ToolOverride | undefined {
    if (this.#rows.length === 0) return undefined
    const rows = this.#rows.filter(({ rule }) => coversTool(rule, { server, tool, name }, 'expose'))
    return rows.length === 0 ? undefined : Object.assign({}, ...rows.map(({ override }) => override))
  }

  /** Patterns that no tool of these fits. */
  unused(
    tools: readonly { readonly server: string; readonly tool: string; readonly name: string }[],
  ): string[] {
    return this.#rows.flatMap(({ rule }) =>
      tools.some((names) => coversTool(rule, names, 'expose')) ? [] : [rule.text],
    )
  }
}

/** The definition as clients are listed it; its name is set elsewhere. */
export function overridden(definition: Json, override: ToolOverride | undefined): Json {
  if (!override) return definition
  const { title, description, annotations } = override
  const own = isObject(definition.annotations) ? definition.annotations : {}
  return {
    ...definition,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...((annotations || (title !== undefined && own.title !== undefined)) && {
      annotations: { ...own, ...(title !== undefined && { title }), ...annotations },
    }),
  }
}
