// tool-catalog.ts: the names of tools and of their arguments as the last command saw them, for completion in a shell. It
// is only a memory: a server that changed since is left out, and a missing or broken file means that nothing is known.
import { join } from 'node:path'
import type { Board } from '@plugboard/core'
import type { ConfiguredServer } from '@plugboard/core/config'
import { isObject } from '@plugboard/core/json'
import { lazyModule } from '@plugboard/core/lazy'

export interface CatalogArgument {
  readonly name: string
  /** The values of an enumeration. */
  readonly values?: readonly string[]
}

export interface CatalogTool {
  readonly name: string
  readonly arguments: readonly CatalogArgument[]
}

interface CatalogServer {
  /** Of the entry that the tools were listed by. */
  readonly signature: string
  readonly tools: readonly CatalogTool[]
}

type Catalog = Readonly<Record<string, CatalogServer>>

const FILE = 'tool-catalog.json'
const BYTES = 4 * 1024 * 1024
const PLAIN = /^[\w.:@/-]{1,200}$/

/** Remembers what the board knows now. It never fails: completion is not worth an error. */
export function saveCatalog(board: Board, servers: readonly ConfiguredServer[], stateDir: string): void {
  const tools = board.tools()
  if (tools.length === 0) return
  const before = readCatalog(stateDir)
  const fresh = servers.flatMap(({ name, signature }) => {
    const own = tools.filter(({ mcpInfo }) => mcpInfo.serverName === name)
    return own.length === 0 ? [] : [[name, { signature, tools: own.map(entryOf) }] as const]
  })
  const text = JSON.stringify({ ...before, ...Object.fromEntries(fresh) })
  if (text.length > BYTES || text === JSON.stringify(before)) return
  const fs = lazyModule('node:fs')
  const path = join(stateDir, FILE)
  const draft = `${path}.${process.pid}`
  try {
    fs.mkdirSync(stateDir, { recursive: true })
    fs.writeFileSync(draft, text, { mode: 0o600 })
    fs.renameSync(draft, path)
  } catch {
    try {
      fs.rmSync(draft, { force: true })
    } catch {
      // There is no folder that could hold it.
    }
  }
}

function entryOf({ mcpInfo, inputJsonSchema }: ReturnType<Board['tools']>[number]): CatalogTool {
  const properties =
    isObject(inputJsonSchema) && isObject(inputJsonSchema.properties) ? inputJsonSchema.properties : {}
  return {
    name: mcpInfo.toolName,
    arguments: Object.entries(properties).map(([name, part]) => {
      const values = isObject(part) && Array.isArray(part.enum) ? part.enum.map(String) : []
      return { name, ...(values.length > 0 && { values }) }
    }),
  }
}

export function readCatalog(stateDir: string): Catalog {
  try {
    const fs = lazyModule('node:fs')
    const path = join(stateDir, FILE)
    if (fs.statSync(path).size > BYTES) return {}
    const read: unknown = JSON.parse(fs.readFileSync(path, 'utf8'))
    return isObject(read) ? (read as Catalog) : {}
  } catch {
    return {}
  }
}

/** The tools of a server, where they are those of its present entry. Names that a shell could misread are left out. */
export function knownTools(catalog: Catalog, { name, signature }: ConfiguredServer): readonly CatalogTool[] {
  const server = Object.hasOwn(catalog, name) ? catalog[name] : undefined
  if (server?.signature !== signature || !Array.isArray(server.tools)) return []
  return server.tools.filter((tool) => PLAIN.test(tool.name))
}

export function isPlain(text: string): boolean {
  return PLAIN.test(text)
}
