// sources.ts: the table of places where definitions live. A new place is one more row. Rows of one scope are in order
// of precedence; load.ts reads them.
import { isAbsolute, join } from 'node:path'
import type { Scope } from './types.ts'

/** These facts alone decide which files there are. */
export interface Place {
  /** The project's top folder. */
  readonly root: string
  readonly home: string
  readonly platform: NodeJS.Platform
  readonly env: Readonly<Record<string, string | undefined>>
}

export type Shape = 'settings' | 'mcp-json' | 'claude-json' | 'claude-json-project' | 'managed-mcp' | 'list'

/**
 * A file's location decides its author. `user`: outside the project. `repository`: inside the project folder, private
 * files included; only a record in the user's home (trust.ts) says that the user wrote or approved its content.
 */
export type Authorship = 'user' | 'repository'

export interface Source {
  readonly id: string
  readonly scope: Scope
  readonly shape: Shape
  readonly authorship: Authorship
  /** The file, URL or label to display. */
  readonly file: string
  /** Another product's file is read and never written, and its other keys are ignored. */
  readonly product: 'plugboard' | 'claude' | 'shared'
  /** The order inside a scope; 0 wins. */
  readonly rank: number
  /** The plugin's folder or bundle, for a file that belongs to one. */
  readonly plugin?: string
  /** A policy folder that PLUGBOARD_MANAGED_DIR added: beside a system folder's policy it can only forbid more. */
  readonly addedByEnv?: true
  /** The user named it on the command line, but it lies inside the project. */
  readonly fromProject?: true
}

export const SETTINGS_SCHEMA_URL = 'https://unpkg.com/plugboard@0/settings.schema.json'
export const MCP_SCHEMA_URL = 'https://unpkg.com/plugboard@0/mcp.schema.json'

/** Our own folder in the user's home: settings, approvals, state. */
export function plugboardHome(place: Pick<Place, 'home' | 'env'>): string {
  return place.env['PLUGBOARD_HOME'] || join(place.home, '.plugboard')
}

/** Where boards keep logs, state and logins. */
export function stateFolder(place: Pick<Place, 'home' | 'env'>): string {
  return place.env['PLUGBOARD_STATE_DIR'] ?? join(plugboardHome(place), 'state')
}

/** The system folders for an administrator's policy. They always count; a variable can only add one more. */
function systemFolders(place: Pick<Place, 'platform'>): readonly string[] {
  switch (place.platform) {
    case 'darwin':
      return ['/Library/Application Support/Plugboard', '/Library/Application Support/ClaudeCode']
    case 'win32':
      return ['C:\\Program Files\\Plugboard', 'C:\\Program Files\\ClaudeCode']
    default:
      return ['/etc/plugboard', '/etc/claude-code']
  }
}

export function fileSources(place: Place): readonly Source[] {
  const { root, home } = place
  const own = plugboardHome(place)
  const claudeJson = join(home, '.claude.json')
  const added = place.env['PLUGBOARD_MANAGED_DIR']
  const rows: Omit<Source, 'rank'>[] = [
    ...systemFolders(place).flatMap(policyRows),
    ...(added && isAbsolute(added)
      ? policyRows(added).map((source) => ({ ...source, addedByEnv: true as const }))
      : []),
    row(
      'local',
      'local',
      'settings',
      'repository',
      join(root, '.plugboard', 'settings.local.json'),
      'plugboard',
    ),
    row(
      'claude-local',
      'local',
      'settings',
      'repository',
      join(root, '.claude', 'settings.local.json'),
      'claude',
    ),
    row('claude-json-project', 'local', 'claude-json-project', 'user', claudeJson, 'claude'),
    row('mcp-json', 'project', 'mcp-json', 'repository', join(root, '.mcp.json'), 'shared'),
    row(
      'project',
      'project',
      'settings',
      'repository',
      join(root, '.plugboard', 'settings.json'),
      'plugboard',
    ),
    row(
      'claude-project',
      'project',
      'settings',
      'repository',
      join(root, '.claude', 'settings.json'),
      'claude',
    ),
    row('user', 'user', 'settings', 'user', join(own, 'settings.json'), 'plugboard'),
    row('claude-user', 'user', 'settings', 'user', join(home, '.claude', 'settings.json'), 'claude'),
    row('claude-json', 'user', 'claude-json', 'user', claudeJson, 'claude'),
  ]
  return withoutHomeAsProject(rows).map((source, rank) => ({ ...source, rank }))
}

function policyRows(folder: string): Omit<Source, 'rank'>[] {
  return [
    row('managed-mcp', 'enterprise', 'managed-mcp', 'user', join(folder, 'managed-mcp.json'), 'shared'),
    row(
      'managed-settings',
      'enterprise',
      'settings',
      'user',
      join(folder, 'managed-settings.json'),
      'claude',
    ),
  ]
}

/** The file that `add` and similar commands write for a scope. */
const WRITABLE: Readonly<Record<'local' | 'project' | 'user', string>> = {
  local: 'local',
  project: 'mcp-json',
  user: 'user',
}
export type WritableScope = keyof typeof WRITABLE

export function writableSource(place: Place, scope: WritableScope): Source {
  const found = fileSources(place).find((source) => source.id === WRITABLE[scope])
  if (!found) throw new Error(`no row for the scope ${scope}`)
  return found
}

/** May we edit it? Only our own files and the shared .mcp.json, not what a flag or a program gave. */
export function isWritable(source: Source): boolean {
  return source.scope in WRITABLE && (source.product === 'plugboard' || source.id === 'mcp-json')
}

function row(
  id: string,
  scope: Scope,
  shape: Shape,
  authorship: Authorship,
  file: string,
  product: Source['product'],
): Omit<Source, 'rank'> {
  return { id, scope, shape, authorship, file, product }
}

/** In the home folder itself, the project's files and the user's are the same files; they are the user's. */
function withoutHomeAsProject(rows: readonly Omit<Source, 'rank'>[]): Omit<Source, 'rank'>[] {
  const users = new Set(rows.filter((source) => source.scope === 'user').map((source) => source.file))
  return rows.filter((source) => source.scope !== 'project' || !users.has(source.file))
}
