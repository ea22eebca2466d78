// index.ts: the public API of @plugboard/workspace, nothing else. Importing it is cheap: the protocol is loaded when it is used.
import type { Transport } from '@modelcontextprotocol/server'
import type { findSandbox as FindSandbox } from './sandbox.ts'
import { VERSION } from './version.ts'
import type { CallPreview, Workspace, WorkspaceOptions } from './workspace.ts'

export type { StartedProcess, StartProcess } from './run-command.ts'
export type { Sandbox } from './sandbox.ts'
export type { CallPreview, WorkspaceOptions } from './workspace.ts'

export interface WorkspaceServer {
  /** Serves one connection over any transport, in both protocol eras. */
  connect(transport: Transport): Promise<void>
  /** What a call would change, for the question to the user. A call that differs from what was shown is refused. */
  preview(tool: string, args: Readonly<Record<string, unknown>>): Promise<CallPreview | undefined>
  /** Why this call is asked about even after a yes to other calls of the tool; undefined when it is not. */
  reasonToAsk(tool: string, args: Readonly<Record<string, unknown>>): Promise<string | undefined>
  close(): Promise<void>
}

/** A server that changes the files of one folder and runs commands in it. */
export function createWorkspaceServer(options: WorkspaceOptions): WorkspaceServer {
  let loaded: Promise<Workspace> | undefined
  const workspace = () => {
    loaded ??= import('./workspace.ts').then((module) => new module.Workspace(options))
    return loaded
  }
  const closers = new Set<() => Promise<void>>()
  return {
    async connect(transport) {
      const { serveStdio } = await import('@modelcontextprotocol/server/stdio')
      const factory = async () => (await import('./mcp.ts')).buildServer(await workspace(), VERSION)
      const handle = serveStdio(factory, { transport })
      closers.add(() => handle.close())
    },
    preview: async (tool, args) => (await workspace()).preview(tool, args),
    reasonToAsk: async (tool, args) => (await workspace()).reasonToAsk(tool, args),
    async close() {
      const all = [...closers]
      closers.clear()
      await Promise.allSettled(all.map((close) => close()))
      await (await loaded)?.close()
    },
  }
}

/** Whether commands run in a sandbox here, and if not, why. */
export const findSandbox: typeof FindSandbox = async () => (await import('./sandbox.ts')).findSandbox()
