// builtin: the servers that are built in and run in this process, ours and those that a program registers. Each is made
// when it is first needed and closed with its board. A package that is not installed disables only its own server.
import { BUILTIN_SOURCE, isBuiltinName, OWN_BUILTIN_SOURCE } from '../config/builtin-switches.ts'
import { EDITOR_ALLOWS, EDITOR_SOURCE } from '../config/editor-locks.ts'
import type { BuiltinName } from '../config/names.ts'
import { isEditorEntry, isInProcess } from '../config/transport-traits.ts'
import type { ConfiguredServer } from '../config/types.ts'
import type { Transport } from '../connection/server-info.ts'
import type { CallPreview } from '../text/question-text.ts'
import { BROWSER, BROWSER_PACKAGE } from './browser.ts'
import type { BuiltinCheck, BuiltinContext, BuiltinInstance, BuiltinServer } from './builtin-server.ts'
import { CODEBASE } from './codebase.ts'
import { COMPUTER, COMPUTER_PACKAGE } from './computer.ts'
import type { OptionalPackage } from './optional-package.ts'
import { WORKSPACE } from './workspace.ts'

export {
  type BuiltinCheck,
  type BuiltinContext,
  type BuiltinInstance,
  type BuiltinServer,
  builtinContext,
} from './builtin-server.ts'
export { findPackage, type OptionalPackage, packagesFolder } from './optional-package.ts'
export { type PrivateFolders, unsuitableRoot } from './unsuitable-root.ts'

/** The table of built-in servers. Whether each is on is decided by config/builtin-switches.ts. */
export const BUILTINS: Readonly<Record<BuiltinName, BuiltinServer>> = {
  codebase: CODEBASE,
  workspace: WORKSPACE,
  browser: BROWSER,
  computer: COMPUTER,
}

/** The packages that `plugboard builtin add` installs, by the name of the built-in. */
export const BUILTIN_PACKAGES: Readonly<Record<string, OptionalPackage>> = {
  browser: BROWSER_PACKAGE,
  computer: COMPUTER_PACKAGE,
}

export interface Builtins {
  /** Each serves the other end of a linked pair. */
  readonly servers: Readonly<Record<string, (end: Transport) => Promise<void>>>
  /** The tools that this server allows by its own list; undefined when it is no built-in. */
  allows(server: ConfiguredServer): readonly string[] | undefined
  /** Why this call needs a prompt, because of what it names; undefined when the built-in's own list decides. */
  asks(server: string, tool: string, args: Readonly<Record<string, unknown>>): Promise<string | undefined>
  /** What this call would do, for the prompt. */
  preview(
    server: string,
    tool: string,
    args: Readonly<Record<string, unknown>>,
  ): Promise<CallPreview | undefined>
  /** The same servers; a built-in that must not serve this folder is disabled, with the reason. */
  fitting(servers: readonly ConfiguredServer[]): readonly ConfiguredServer[]
  close(): Promise<void>
}

/** Is this entry one of our built-ins, rather than another server of the same name? */
export function isBuiltin({ entry, scope, source }: ConfiguredServer): boolean {
  return scope === 'dynamic' && isInProcess(entry) && source === BUILTIN_SOURCE
}

/** The editor that was found by its lock file, rather than an entry of a file. */
function isRunningEditor({ entry, scope, source }: ConfiguredServer): boolean {
  return scope === 'dynamic' && isEditorEntry(entry) && source === EDITOR_SOURCE
}

/** What a built-in needs besides itself, for `plugboard doctor`. */
export async function checkBuiltin(
  server: ConfiguredServer,
  context: BuiltinContext,
): Promise<readonly BuiltinCheck[]> {
  const { name } = server
  return isBuiltin(server) && isBuiltinName(name) ? ((await BUILTINS[name].check?.(context)) ?? []) : []
}

/** `own`: the built-ins of the program, by name; they win over ours. */
export function createBuiltins(
  context: BuiltinContext,
  own: Readonly<Record<string, BuiltinServer>> = {},
): Builtins {
  const table: Readonly<Record<string, BuiltinServer>> = { ...BUILTINS, ...own }
  const made = new Map<string, Promise<BuiltinInstance>>()
  const instance = (name: string): Promise<BuiltinInstance> => {
    const known = made.get(name)
    if (known) return known
    const making = Promise.resolve(table[name]?.create(context)).then((one) => {
      if (one) return one
      throw new TypeError(`The built-in server "${name}" was not made: \`create\` returned nothing.`)
    })
    made.set(name, making)
    // One that could not be made is made anew by the next connect.
    making.catch(() => made.delete(name))
    return making
  }
  const rowOf = (server: ConfiguredServer): BuiltinServer | undefined => {
    const { name, source, scope, entry } = server
    const isOwn = source === OWN_BUILTIN_SOURCE && scope === 'dynamic' && isInProcess(entry)
    if (isOwn) return Object.hasOwn(own, name) ? own[name] : undefined
    return isBuiltin(server) && isBuiltinName(name) ? BUILTINS[name] : undefined
  }
  return {
    servers: Object.fromEntries(
      Object.keys(table).map((name) => [
        name,
        async (end: Transport) => void (await (await instance(name)).connect(end)),
      ]),
    ),
    allows: (server) => {
      if (isRunningEditor(server)) return EDITOR_ALLOWS
      const row = rowOf(server)
      return row && (row.allow ?? [])
    },
    asks: async (server, tool, args) =>
      Object.hasOwn(table, server) ? await (await instance(server)).reasonToAsk?.(tool, args) : undefined,
    preview: async (server, tool, args) =>
      Object.hasOwn(table, server) ? await (await instance(server)).preview?.(tool, args) : undefined,
    fitting: (servers) =>
      servers.map((server) => {
        const text = server.disabled ? undefined : rowOf(server)?.unfit?.(context)
        return text === undefined ? server : { ...server, disabled: { kind: 'config', text } }
      }),
    close: async () => {
      const all = [...made.values()]
      made.clear()
      await Promise.allSettled(all.map(async (making) => await (await making).close?.()))
    },
  }
}
