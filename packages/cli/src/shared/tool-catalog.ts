// tool-catalog.ts: the names of tools, prompts, their arguments and resources as they were last listed, for completion in a
// shell: the catalog of the state folder, without names that a shell could misread.
import type { ConfiguredServer } from '@plugboard/core/config'
import type { CatalogStore } from '@plugboard/core/connection/catalog-store'
import { isObject } from '@plugboard/core/json'

export interface CatalogArgument {
  readonly name: string
  /** The values of an enumeration. */
  readonly values?: readonly string[]
}

export interface CatalogTool {
  readonly name: string
  readonly arguments: readonly CatalogArgument[]
}

export interface KnownNames {
  readonly tools: readonly CatalogTool[]
  readonly prompts: readonly CatalogTool[]
  /** Their URIs. */
  readonly resources: readonly string[]
}

const PLAIN = /^[\w.:@/-]{1,200}$/
/** More are of no use in a shell. */
const ITEMS = 500

/** What is known of a server with its present entry. */
export function knownOf(store: CatalogStore, server: ConfiguredServer): KnownNames {
  const record = store.recall(server)
  return {
    tools: (record?.tools ?? []).flatMap(({ name, inputSchema }) =>
      isPlain(name) ? [{ name, arguments: argumentsOf(inputSchema) }] : [],
    ),
    prompts: (record?.prompts ?? []).slice(0, ITEMS).flatMap(({ name, arguments: parts }) =>
      isPlain(name)
        ? [
            {
              name,
              arguments: Array.isArray(parts)
                ? parts.flatMap((part: unknown) =>
                    isObject(part) && typeof part['name'] === 'string' ? [{ name: part['name'] }] : [],
                  )
                : [],
            },
          ]
        : [],
    ),
    resources: (record?.resources ?? [])
      .slice(0, ITEMS)
      .map(({ uri }) => uri)
      .filter(isPlain),
  }
}

function argumentsOf(schema: unknown): readonly CatalogArgument[] {
  const properties = isObject(schema) && isObject(schema.properties) ? schema.properties : {}
  return Object.entries(properties).map(([name, part]) => {
    const values = isObject(part) && Array.isArray(part.enum) ? part.enum.map(String) : []
    return { name, ...(values.length > 0 && { values }) }
  })
}

export function isPlain(text: string): boolean {
  return PLAIN.test(text)
}
