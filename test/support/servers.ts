// servers.ts: real MCP servers from npm as entries of a configuration; none of them needs the network to be listed.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** The script of an installed package's command. */
export function scriptOf(name: string): string {
  const folder = join(root, 'node_modules', name)
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  return join(folder, typeof bin === 'string' ? bin : (Object.values<string>(bin)[0] ?? ''))
}

export function entryOf(
  name: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
) {
  return { command: process.execPath, args: [scriptOf(name), ...args], env }
}

export const everything = entryOf('@modelcontextprotocol/server-everything')

/** Six servers of different authors and sizes, with their data in `folder`. */
export function sixServers(folder: string) {
  return {
    everything,
    files: entryOf('@modelcontextprotocol/server-filesystem', [folder]),
    memory: entryOf('@modelcontextprotocol/server-memory', [], {
      MEMORY_FILE_PATH: join(folder, 'memory.json'),
    }),
    thinking: entryOf('@modelcontextprotocol/server-sequential-thinking'),
    git: entryOf('@cyanheads/git-mcp-server', [], {
      MCP_TRANSPORT_TYPE: 'stdio',
      LOGS_DIR: join(folder, 'logs'),
    }),
    notion: entryOf('@notionhq/notion-mcp-server', [], { NOTION_TOKEN: 'none' }),
  }
}

/** A server that answers and asks whatever it is told to, and records in `seen` what it is sent. */
export function odd(seen?: string, tools?: unknown) {
  const env = {
    ...(seen !== undefined && { SEEN: seen }),
    ...(tools !== undefined && { TOOLS: JSON.stringify(tools) }),
  }
  return { command: process.execPath, args: [fileURLToPath(new URL('./odd.mjs', import.meta.url))], env }
}

/** A real server behind a tee that records what it is sent. */
export function overheard(name: string, log: string) {
  const tee = fileURLToPath(new URL('./tee.mjs', import.meta.url))
  return { command: process.execPath, args: [tee, log, scriptOf(name)] }
}
