// workspace.ts: the built-in server that edits files of the project and runs commands in it. The package is loaded at its first
// use. A process that it starts gets the environment of a stdio server, and ends with its group.
import { join } from 'node:path'
import type { StartProcess } from '@plugboard/workspace'
import { InitError } from '../errors.ts'
import type { Host } from '../host.ts'
import { childEnvironment } from '../transports/environment.ts'
import { watchdogOf } from '../transports/orphan-watchdog.ts'
import { ProcessGroup } from '../transports/process-group.ts'
import type { BuiltinContext, BuiltinServer } from './builtin-server.ts'
import { unsuitableRoot } from './unsuitable-root.ts'

export const WORKSPACE: BuiltinServer = {
  create: openWorkspace,
  // Nothing else: every edit and every command needs a yes, or a rule.
  allow: ['todo'],
  unfit: ({ root, host, home }) => {
    const reason = unsuitableRoot(root, { home: host.home, own: home })
    return reason === undefined ? undefined : `${reason}; it changes project folders only`
  },
  check: async () => {
    const { findSandbox } = await loadWorkspace()
    const sandbox = await findSandbox()
    if (sandbox.kind === 'on') return [{ ok: true, detail: 'commands run in a sandbox' }]
    return [
      {
        ok: true,
        detail: `commands run without a sandbox: ${sandbox.why}`,
        hint: 'On Debian and Ubuntu: apt-get install bubblewrap socat ripgrep.',
      },
    ]
  },
}

async function openWorkspace({ root, host, home }: BuiltinContext) {
  const { createWorkspaceServer } = await loadWorkspace()
  return createWorkspaceServer({
    root,
    home: host.home,
    stateDir: join(home, 'workspace'),
    protectedFolders: [home],
    env: childEnvironment({ env: {} }, host),
    start: startWith(host),
  })
}

function startWith(host: Host): StartProcess {
  return (program, args, { cwd, env }) => {
    watchdogOf(host).ready()
    const child = host.spawn(program, args, {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: host.platform !== 'win32',
      windowsHide: true,
    })
    const group = child.pid === undefined ? undefined : new ProcessGroup(child, child.pid, host)
    return { child, end: async () => await group?.end() }
  }
}

async function loadWorkspace() {
  try {
    return await import('@plugboard/workspace')
  } catch (error) {
    throw new InitError('The package @plugboard/workspace could not be loaded.', {
      server: 'workspace',
      stage: 'client',
      hint: 'Install it (`npm install @plugboard/workspace`), or switch it off: `plugboard disable workspace`.',
      cause: error,
    })
  }
}
