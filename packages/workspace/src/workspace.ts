// workspace.ts: one project that can be changed: edits with a plan and a journal, commands with a sandbox, a list of tasks. One edit
// at a time. The protocol is in mcp.ts.
import { createHash } from 'node:crypto'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isShown } from '@plugboard/codebase/root'
import type { z } from 'zod'
import { type EditTool, isEditTool, planEdit } from './edit-plan.ts'
import { isToolError, WorkspaceError } from './errors.ts'
import { Journal } from './journal.ts'
import { WORKSPACE_LIMITS } from './limits.ts'
import { type EditPlan, type FileChange, ProjectFiles } from './project-files.ts'
import { type CommandResult, runCommand, type StartProcess } from './run-command.ts'
import { COMMAND_VARIABLE, findSandbox, type Sandbox, type SandboxPlaces } from './sandbox.ts'
import { type CommandInput, type INPUTS, isOnline } from './schemas.ts'

export interface WorkspaceOptions {
  /** The only folder that is written. */
  readonly root: string
  readonly home: string
  /** Where the undo journal is; it holds file contents, so it must be the user's alone. */
  readonly stateDir: string
  /** Folders that are never written, and not read by commands. */
  readonly protectedFolders: readonly string[]
  /** The environment of commands. */
  readonly env: Readonly<Record<string, string>>
  readonly start: StartProcess
  /** Instead of the one that is found. */
  readonly sandbox?: Sandbox
}

/** What a call would do, for the question to the user. */
export interface CallPreview {
  readonly notes?: readonly string[]
  /** Why the call cannot be done. It needs no question: it will only say so. */
  readonly fails?: string
  readonly changes?: readonly { readonly path: string; readonly before?: string; readonly after?: string }[]
}

export interface CommandOptions {
  /** With network access. */
  readonly online?: boolean
  readonly signal?: AbortSignal | undefined
  readonly onOutput?: ((text: string) => void) | undefined
}

export type TodoItem = NonNullable<z.output<typeof INPUTS.todo>['items']>[number]

export class Workspace {
  readonly #options: WorkspaceOptions
  readonly #files: ProjectFiles
  readonly #journal: Journal
  /** What the user was shown, by call: the files must still be the same when the call comes. */
  readonly #shown = new Map<string, string>()
  #last: Promise<unknown> = Promise.resolve()
  #sandbox: Promise<Sandbox> | undefined
  #temporary: Promise<string> | undefined
  #todo: readonly TodoItem[] = []
  readonly #closing = new AbortController()

  constructor(options: WorkspaceOptions) {
    this.#options = options
    this.#files = new ProjectFiles(options.root, options.protectedFolders)
    this.#journal = new Journal(options.stateDir, options.root)
  }

  async edit(tool: EditTool, args: unknown): Promise<readonly FileChange[]> {
    return await this.#inTurn(async () => {
      const key = keyOf(tool, args)
      const shown = this.#shown.get(key)
      this.#shown.delete(key)
      const plan = await planEdit(tool, args, this.#files, this.#journal)
      if (shown !== undefined && shown !== fingerprint(plan))
        throw new WorkspaceError(
          'CHANGED',
          'The files changed after the user was shown this edit, so it was not made.',
          'Read them again and make the edit anew.',
        )
      await this.#files.apply(plan.changes)
      if (plan.undoes === undefined) await this.#journal.add(tool, plan.changes)
      else await this.#journal.forget(plan.undoes)
      return plan.changes
    })
  }

  async preview(tool: string, args: unknown): Promise<CallPreview | undefined> {
    if (tool === 'run_command' || isOnline(tool))
      return { notes: [sandboxNote(await this.#findSandbox(), isOnline(tool))] }
    if (!isEditTool(tool)) return undefined
    try {
      const plan = await planEdit(tool, args, this.#files, this.#journal)
      this.#remember(keyOf(tool, args), fingerprint(plan))
      return {
        changes: plan.changes.map(({ file, after }) => ({
          path: file.path,
          ...(file.text !== undefined && { before: file.text }),
          ...(after !== undefined && { after }),
        })),
      }
    } catch (error) {
      if (!isToolError(error)) return undefined
      // Nothing that the user was not shown is done, should it become possible meanwhile.
      this.#remember(keyOf(tool, args), FAILS)
      return { fails: error.message }
    }
  }

  /** Why a yes to other calls of this tool does not cover this one: it touches a hidden file, or one with credentials. */
  async reasonToAsk(tool: string, args: unknown): Promise<string | undefined> {
    if (!isEditTool(tool)) return undefined
    try {
      const { changes } = await planEdit(tool, args, this.#files, this.#journal)
      const paths = changes.map(({ file }) => file.path).filter((path) => !isShown(path))
      return paths.length === 0 ? undefined : `it changes ${paths.join(', ')}, hidden or with credentials`
    } catch (error) {
      if (isToolError(error)) return undefined
      throw error
    }
  }

  async run(
    input: CommandInput,
    { online = false, signal, onOutput }: CommandOptions = {},
  ): Promise<CommandResult & { readonly sandbox: Sandbox }> {
    const { root, find } = {
      root: await this.#files.root.real(),
      find: await this.#files.root.find(input.cwd),
    }
    const sandbox = await this.#findSandbox()
    const temporary = await this.#temporaryFolder()
    const argv = await this.#argv(input, sandbox, { root, temporary, online })
    const result = await runCommand(this.#options.start, {
      argv,
      cwd: find.absolute,
      env: {
        ...this.#options.env,
        TMPDIR: temporary,
        TERM: 'dumb',
        NO_COLOR: '1',
        ...(sandbox.kind === 'on' && { [COMMAND_VARIABLE]: lineOf(input, temporary) }),
      },
      timeoutMs: input.timeout_ms,
      signal: signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal,
      onOutput,
    })
    return { ...result, sandbox }
  }

  todo(items?: readonly TodoItem[]): readonly TodoItem[] {
    if (items) this.#todo = items
    return this.#todo
  }

  /** Commands that still run are ended. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#last.catch(() => undefined)
    const temporary = await this.#temporary?.catch(() => undefined)
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true }).catch(() => undefined)
  }

  async #argv(
    { command, args, shell }: CommandInput,
    sandbox: Sandbox,
    places: Pick<SandboxPlaces, 'root' | 'temporary' | 'online'>,
  ): Promise<readonly string[]> {
    if (shell && args.length > 0)
      throw new WorkspaceError(
        'BAD_INPUT',
        'With shell: true, `command` is the whole command line.',
        'Leave out args.',
      )
    if (command.length + args.join(' ').length > WORKSPACE_LIMITS.commandChars)
      throw new WorkspaceError(
        'TOO_LARGE',
        'The command is too long.',
        'Write a script with write_file and run that.',
      )
    if (!shell && args.length === 0 && /\s/.test(command.trim()))
      throw new WorkspaceError(
        'BAD_INPUT',
        `There is no program "${command}".`,
        'Put the arguments into args, or set shell: true for a command line.',
      )
    const isWindows = process.platform === 'win32'
    if (sandbox.kind === 'off') {
      if (!shell) return [command, ...args]
      return isWindows ? ['cmd.exe', '/d', '/s', '/c', command] : ['/bin/sh', '-c', command]
    }
    return await sandbox.wrapper({
      ...places,
      home: this.#options.home,
      hidden: this.#options.protectedFolders,
    })
  }

  #findSandbox(): Promise<Sandbox> {
    this.#sandbox ??= this.#options.sandbox ? Promise.resolve(this.#options.sandbox) : findSandbox()
    return this.#sandbox
  }

  #temporaryFolder(): Promise<string> {
    this.#temporary ??= mkdtemp(join(tmpdir(), 'plugboard-workspace-')).then((path) => realpath(path))
    return this.#temporary
  }

  #remember(key: string, value: string): void {
    this.#shown.delete(key)
    this.#shown.set(key, value)
    const [oldest] = this.#shown.keys()
    if (this.#shown.size > WORKSPACE_LIMITS.previews && oldest !== undefined) this.#shown.delete(oldest)
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#last.then(work, work)
    this.#last = mine.catch(() => undefined)
    return mine
  }
}

export function sandboxNote(sandbox: Sandbox, online = false): string {
  const network = online ? 'and HAS network access' : 'and has no network'
  return sandbox.kind === 'on'
    ? `In a sandbox: it can write in the project only, reads no credentials ${network}.`
    : `NOT in a sandbox (${sandbox.why}): it can do what you can do.`
}

/** In place of a fingerprint. */
const FAILS = 'fails'

/** The wrapper sets a TMPDIR of its own. */
function lineOf({ command, args, shell }: CommandInput, temporary: string): string {
  const line = shell ? command : `exec ${[command, ...args].map(quotedForShell).join(' ')}`
  return `export TMPDIR=${quotedForShell(temporary)}\n${line}`
}

const quotedForShell = (text: string) => `'${text.replaceAll("'", "'\\''")}'`

const keyOf = (tool: string, args: unknown) => hashOf(JSON.stringify([tool, args]))

function fingerprint({ changes, undoes }: EditPlan): string {
  return hashOf(JSON.stringify([undoes, changes.map(({ file, after }) => [file.absolute, file.text, after])]))
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
