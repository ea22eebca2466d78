// mcp.ts: the workspace as an MCP server: its tools, what they say about themselves, and results as a model reads them.
import { McpServer, type ServerContext, type StandardSchemaWithJSON } from '@modelcontextprotocol/server'
import type { z } from 'zod'
import { type EditTool, isEditTool } from './edit-plan.ts'
import { errorText, isToolError } from './errors.ts'
import { WORKSPACE_LIMITS } from './limits.ts'
import type { FileChange } from './project-files.ts'
import { type CommandInput, INPUTS, isOnline, OUTPUTS, type ToolName } from './schemas.ts'
import { sandboxNote, type Workspace } from './workspace.ts'

interface Answer {
  readonly text: string
  readonly structured: Record<string, unknown>
  readonly isError?: boolean
}

const ABOUT: Readonly<Record<ToolName, { readonly title: string; readonly description: string }>> = {
  write_file: {
    title: 'Write a file',
    description:
      'Creates a text file of the project, or replaces its whole content. Folders are made as needed.',
  },
  edit_file: {
    title: 'Edit a file',
    description:
      'Replaces an exact text in a file of the project. The text must occur once, unless replace_all is set.',
  },
  apply_patch: {
    title: 'Apply a patch',
    description:
      'Applies a patch to files of the project, all of it or nothing. It can add, change, move and remove files.',
  },
  undo_edit: {
    title: 'Undo the last edit',
    description:
      'Puts the files of the last write_file, edit_file or apply_patch back as they were, if they did not change since.',
  },
  run_command: {
    title: 'Run a command',
    description:
      'Runs a program in the project and returns its output and exit code. No shell, unless shell is true. It runs in a sandbox where the system has one: then it writes in the project only and has no network.',
  },
  run_command_online: {
    title: 'Run a command with network',
    description:
      'The same as run_command, with network access: for commands that download or install. The user is asked about it separately.',
  },
  todo: {
    title: 'List of tasks',
    description: 'Keeps the list of tasks of this session. Give the whole list to replace it.',
  },
}

const HINTS: Readonly<Record<ToolName, Record<string, boolean>>> = {
  write_file: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
  edit_file: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  apply_patch: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  undo_edit: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: false },
  run_command: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  run_command_online: {
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: true,
  },
  todo: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
}

export function buildServer(workspace: Workspace, version: string): McpServer {
  const server = new McpServer(
    { name: 'workspace', version },
    {
      instructions:
        'Changes files of one project folder and runs commands in it. Paths are relative to the folder. Prefer edit_file over write_file for a file that exists.',
    },
  )
  for (const name of Object.keys(INPUTS) as ToolName[]) register(server, workspace, name)
  return server
}

function register(server: McpServer, workspace: Workspace, name: ToolName): void {
  server.registerTool(
    name as string,
    {
      ...ABOUT[name],
      // The union of all schemas is too wide for the SDK's overloads; this is the part it needs.
      inputSchema: INPUTS[name] as StandardSchemaWithJSON,
      outputSchema: OUTPUTS[name] as StandardSchemaWithJSON,
      annotations: HINTS[name],
    },
    async (input, context) => {
      try {
        const { text, structured, isError } = await answer(workspace, name, input, context)
        return {
          content: [{ type: 'text' as const, text }],
          structuredContent: structured,
          ...(isError && { isError }),
        }
      } catch (error) {
        if (!isToolError(error)) throw error
        return { isError: true, content: [{ type: 'text' as const, text: errorText(error) }] }
      }
    },
  )
}

async function answer(
  workspace: Workspace,
  name: ToolName,
  input: unknown,
  context: ServerContext,
): Promise<Answer> {
  if (isEditTool(name)) return edited(name, await workspace.edit(name, input))
  // The SDK has parsed the arguments with this very schema.
  if (name === 'todo') return listed(workspace.todo((input as z.output<typeof INPUTS.todo>).items))
  return await ran(workspace, input as CommandInput, isOnline(name), context)
}

function edited(tool: EditTool, changes: readonly FileChange[]): Answer {
  const files = changes.map(({ file, after }) => ({
    path: file.path,
    action: file.text === undefined ? 'created' : after === undefined ? 'removed' : 'changed',
  }))
  const lines = files.map(({ path, action }) => `${action} ${path}`)
  return {
    text: `${tool === 'undo_edit' ? 'Undone: ' : ''}${lines.join(', ')}.`,
    structured: { files },
  }
}

function listed(items: ReturnType<Workspace['todo']>): Answer {
  const marks = { pending: '[ ]', in_progress: '[>]', done: '[x]' } as const
  const text = items.map((item) => `${marks[item.status]} ${item.text}`).join('\n')
  return { text: text === '' ? 'The list is empty.' : text, structured: { items } }
}

async function ran(
  workspace: Workspace,
  input: CommandInput,
  online: boolean,
  { mcpReq }: ServerContext,
): Promise<Answer> {
  const onOutput = tellOutput(mcpReq)
  const result = await workspace.run(input, { online, signal: mcpReq.signal, onOutput })
  const { exitCode, signal, timedOut, output, truncated, sandbox } = result
  const how = timedOut
    ? `It was ended after ${input.timeout_ms} ms.`
    : signal === null
      ? `Exit code ${exitCode}.`
      : `Ended by ${signal}.`
  const note = sandbox.kind === 'on' && exitCode === 0 ? '' : ` ${sandboxNote(sandbox, online)}`
  return {
    text: `${output.trimEnd()}${output.trim() === '' ? '' : '\n\n'}${how}${note}`,
    structured: {
      exit_code: exitCode,
      signal,
      timed_out: timedOut,
      output,
      truncated,
      sandboxed: sandbox.kind === 'on',
    },
    isError: timedOut || exitCode !== 0,
  }
}

/** The last line of the output, now and then, for a client that asked for progress. */
function tellOutput(mcpReq: ServerContext['mcpReq']): ((text: string) => void) | undefined {
  const progressToken = mcpReq._meta?.progressToken
  if (progressToken === undefined) return undefined
  let [progress, next] = [0, 0]
  return (text) => {
    const line = text.trimEnd().split('\n').at(-1) ?? ''
    if (Date.now() < next || line === '') return
    next = Date.now() + WORKSPACE_LIMITS.progressEveryMs
    const params = { progressToken, progress: ++progress, message: line.slice(0, 200) }
    // A client that is gone does not need it.
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined)
  }
}
