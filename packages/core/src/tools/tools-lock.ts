// tools-lock.ts: the tool definitions that the user has accepted, by hash, so that a server cannot silently change
// what its tools say or accept. It compares and explains; the board prompts the user and places the lock file.
import { createHash } from 'node:crypto'
import { ParseError } from '../errors.ts'
import { readTextFile, withFileLock, writeFileAtomic } from '../files/index.ts'
import { canonicalJson, isObject, put } from '../json.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import type { ToolDefinition } from './definition.ts'

/** What is stored of one accepted tool: enough to explain later what changed. */
export interface LockedTool {
  readonly hash: string
  readonly description: string
  readonly inputSchema: unknown
  readonly annotations?: unknown
}

/** The accepted definitions of tools. */
export interface LockFile {
  readonly version: 1
  /** server → tool → what was accepted. */
  readonly servers: Readonly<Record<string, Readonly<Record<string, LockedTool>>>>
}

/** How the definition of a tool differs from the one that was accepted. */
export type ToolChange =
  | { readonly kind: 'added'; readonly tool: string }
  | { readonly kind: 'removed'; readonly tool: string }
  | { readonly kind: 'changed'; readonly tool: string; readonly lines: readonly string[] }

const EMPTY: LockFile = { version: 1, servers: {} }

/** The same hash for the same meaning: the order of keys does not count, every character of text does. */
export function toolHash(tool: ToolDefinition): string {
  return createHash('sha256')
    .update(canonicalJson(hashed(tool)))
    .digest('hex')
}

function hashed(tool: ToolDefinition) {
  return {
    name: tool.name,
    title: tool.title ?? null,
    description: tool.description ?? '',
    inputSchema: tool.inputSchema,
    outputSchema: tool.outputSchema ?? null,
    annotations: tool.annotations ?? null,
  }
}

/** What differs from what was accepted. A server that was never accepted has no differences. */
export function toolChanges(
  lock: LockFile,
  server: string,
  tools: readonly ToolDefinition[],
): readonly ToolChange[] {
  const accepted = Object.hasOwn(lock.servers, server) ? lock.servers[server] : undefined
  if (!accepted) return []
  const changes: ToolChange[] = []
  const now = new Set(tools.map(({ name }) => name))
  for (const tool of tools) {
    const before = Object.hasOwn(accepted, tool.name) ? accepted[tool.name] : undefined
    if (!before) changes.push({ kind: 'added', tool: tool.name })
    else if (before.hash !== toolHash(tool))
      changes.push({ kind: 'changed', tool: tool.name, lines: difference(before, tool) })
  }
  for (const name of Object.keys(accepted)) if (!now.has(name)) changes.push({ kind: 'removed', tool: name })
  return changes
}

/** The lock with these tools accepted for the server, as they are now. Only the named ones, or all. */
export function accept(
  lock: LockFile,
  server: string,
  tools: readonly ToolDefinition[],
  only?: readonly string[],
): LockFile {
  const before = Object.hasOwn(lock.servers, server) ? lock.servers[server] : undefined
  const accepted: Record<string, LockedTool> = {}
  for (const tool of tools) {
    const kept = before && Object.hasOwn(before, tool.name) ? before[tool.name] : undefined
    if (only && !only.includes(tool.name)) {
      if (kept) put(accepted, tool.name, kept)
    } else put(accepted, tool.name, lockedTool(tool))
  }
  const servers: Record<string, Readonly<Record<string, LockedTool>>> = {}
  for (const [name, entries] of Object.entries(lock.servers)) put(servers, name, entries)
  put(servers, server, accepted)
  return { version: 1, servers }
}

function lockedTool(tool: ToolDefinition): LockedTool {
  return {
    hash: toolHash(tool),
    description: tool.description ?? '',
    inputSchema: tool.inputSchema,
    ...(tool.annotations && { annotations: tool.annotations }),
  }
}

/** Line by line, `-` what was accepted and `+` the current text; invisible characters are made visible. */
function difference(before: LockedTool, tool: ToolDefinition): readonly string[] {
  const now = lockedTool(tool)
  const lines = [
    ...compared('description', before.description, now.description),
    ...compared('inputSchema', pretty(before.inputSchema), pretty(now.inputSchema)),
    ...compared('annotations', pretty(before.annotations ?? {}), pretty(now.annotations ?? {})),
  ]
  return lines.length > 0 ? lines : ['its title or its output schema changed']
}

function compared(what: string, before: string, now: string): readonly string[] {
  if (before === now) return []
  const old = before.split('\n')
  const fresh = now.split('\n')
  let start = 0
  while (start < old.length && start < fresh.length && old[start] === fresh[start]) start++
  let end = 0
  while (end < old.length - start && end < fresh.length - start && old.at(-1 - end) === fresh.at(-1 - end))
    end++
  const shown = (sign: string, lines: readonly string[]) =>
    lines
      .slice(start, lines.length - end)
      .slice(0, 40)
      .map((line) => `${sign} ${visible(line).slice(0, 400)}`)
  return [`${what}:`, ...shown('-', old), ...shown('+', fresh)]
}

function pretty(value: unknown): string {
  return JSON.stringify(value, undefined, 2) ?? ''
}

function visible(line: string): string {
  return line.replace(
    /[\p{Cc}\p{Default_Ignorable_Code_Point}]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  )
}

/** An unreadable lock is an error: treating it as empty would accept everything again. */
export async function readLock(path: string): Promise<LockFile> {
  const read = await readTextFile(path, CONFIG_LIMITS.fileBytes)
  if (read.kind === 'missing') return EMPTY
  const broken = (why: string) =>
    new ParseError(`The lock of tool definitions ${path} ${why}.`, {
      hint: 'Restore it, or delete it to accept the tools again.',
    })
  if (read.kind === 'problem') throw broken(read.message)
  let value: unknown
  try {
    value = JSON.parse(read.text)
  } catch (error) {
    throw new ParseError(`The lock of tool definitions ${path} is not JSON.`, { cause: error })
  }
  if (!isObject(value) || value.version !== 1 || !isObject(value.servers))
    throw broken('has an unknown version')
  for (const tools of Object.values(value.servers))
    if (
      !isObject(tools) ||
      !Object.values(tools).every((tool) => isObject(tool) && typeof tool.hash === 'string')
    )
      throw broken('holds an entry that is not valid')
  // Every level has just been checked.
  return value as unknown as LockFile
}

/** Reads, changes and writes the lock as one step between processes. */
export async function updateLock(path: string, change: (lock: LockFile) => LockFile): Promise<LockFile> {
  const options = { waitMs: CONFIG_LIMITS.lockWaitMs, staleMs: CONFIG_LIMITS.lockStaleMs }
  return withFileLock(path, options, async () => {
    const next = change(await readLock(path))
    const text = `${JSON.stringify(next, undefined, 2)}\n`
    await writeFileAtomic(path, text, { mode: 0o600, forceMode: true, dirMode: 0o700 })
    return next
  })
}
