// schemas.ts: what each tool takes.
import * as z from 'zod'
import { WORKSPACE_LIMITS } from './limits.ts'

const filePath = z.string().min(1).describe('Relative to the project folder.')

const command = z.object({
  command: z.string().min(1).describe('The program, or with shell: true a whole command line.'),
  args: z.array(z.string()).max(1000).default([]).describe('Its arguments, each as it is.'),
  shell: z.boolean().default(false).describe('Run `command` in the shell, for pipes and redirections.'),
  cwd: z.string().default('.').describe('The folder to start in, relative to the project folder.'),
  timeout_ms: z.number().int().min(1).max(WORKSPACE_LIMITS.commandMaxMs).default(WORKSPACE_LIMITS.commandMs),
})

export type CommandInput = z.output<typeof command>

export const INPUTS = {
  write_file: z.object({
    file_path: filePath,
    content: z.string().describe('The whole new content.'),
  }),
  edit_file: z.object({
    file_path: filePath,
    old_string: z
      .string()
      .describe('The exact text to replace, with its spaces and line breaks; it must occur once.'),
    new_string: z.string().describe('What takes its place.'),
    replace_all: z.boolean().default(false).describe('Replace every occurrence.'),
  }),
  apply_patch: z.object({
    patch: z.string().min(1).describe('A unified diff, or a text from "*** Begin Patch" to "*** End Patch".'),
  }),
  undo_edit: z.object({
    earlier: z
      .boolean()
      .default(false)
      .describe('Also undo edits of earlier sessions in this project, when this one has none left.'),
  }),
  run_command: command,
  run_command_online: command,
  todo: z.object({
    items: z
      .array(
        z.object({
          text: z.string().min(1).max(500),
          status: z.enum(['pending', 'in_progress', 'done']).default('pending'),
        }),
      )
      .max(WORKSPACE_LIMITS.todoItems)
      .optional()
      .describe('The whole new list. Leave it out to read the list.'),
  }),
} as const

export type ToolName = keyof typeof INPUTS

/** A tool of its own, so that rules, grants and the audit log tell a command with network from one without. */
export const isOnline = (tool: string) => tool === 'run_command_online'

const files = z.object({
  files: z.array(z.object({ path: z.string(), action: z.enum(['created', 'changed', 'removed']) })),
})

const ran = z.object({
  exit_code: z.number().nullable(),
  signal: z.string().nullable(),
  timed_out: z.boolean(),
  output: z.string(),
  truncated: z.boolean(),
  sandboxed: z.boolean(),
})

export const OUTPUTS = {
  write_file: files,
  edit_file: files,
  apply_patch: files,
  undo_edit: files,
  run_command: ran,
  run_command_online: ran,
  todo: z.object({ items: z.array(z.object({ text: z.string(), status: z.string() })) }),
} as const
