// edit-plan.ts: what a call would change, before anything is written. The question to the user and the call itself use the same plan,
// so that the user is shown what is done.

import { applyHunks } from './apply-hunks.ts'
import { WorkspaceError } from './errors.ts'
import type { Journal } from './journal.ts'
import { plainText } from './line-endings.ts'
import { parsePatch } from './patch-syntax.ts'
import type { EditPlan, FileChange, ProjectFiles } from './project-files.ts'
import { replaceText } from './replace-text.ts'
import { INPUTS } from './schemas.ts'

export const EDIT_TOOLS = ['write_file', 'edit_file', 'apply_patch', 'undo_edit'] as const
export type EditTool = (typeof EDIT_TOOLS)[number]

export function isEditTool(tool: string): tool is EditTool {
  return EDIT_TOOLS.some((one) => one === tool)
}

/** Throws an error for the model when the call cannot be done. */
export async function planEdit(
  tool: EditTool,
  args: unknown,
  files: ProjectFiles,
  journal: Journal,
): Promise<EditPlan> {
  if (tool === 'write_file') {
    const { file_path, content } = INPUTS.write_file.parse(args)
    const file = await files.find(file_path)
    return checked([{ file, after: content }])
  }
  if (tool === 'edit_file') {
    const { file_path, old_string, new_string, replace_all } = INPUTS.edit_file.parse(args)
    const file = await files.existing(file_path)
    const { text, restore } = plainText(file.text)
    const edit = { oldText: lf(old_string), newText: lf(new_string), all: replace_all }
    // A text with `\r\n` in the middle of a file with both kinds is taken as it is.
    const exact =
      text === file.text && text.includes('\r') ? { ...edit, oldText: old_string, newText: new_string } : edit
    return checked([{ file, after: restore(replaceText(text, exact, file.path)) }])
  }
  if (tool === 'apply_patch') return checked(await patched(INPUTS.apply_patch.parse(args).patch, files))
  const { earlier } = INPUTS.undo_edit.parse(args)
  return await journal.plan(files, earlier)
}

const lf = (text: string) => text.replaceAll('\r\n', '\n')

function checked(changes: readonly FileChange[]): EditPlan {
  const real = changes.filter(({ file, after }) => file.text !== after)
  if (real.length === 0)
    throw new WorkspaceError(
      'NO_CHANGE',
      'The file has exactly this content already, so nothing was written.',
    )
  return { changes: real }
}

async function patched(patch: string, files: ProjectFiles): Promise<FileChange[]> {
  const changes: FileChange[] = []
  for (const one of parsePatch(patch)) {
    if (changes.some(({ file }) => file.path === one.path))
      throw new WorkspaceError('BAD_PATCH', `The patch names ${one.path} twice.`, 'Put its hunks together.')
    if (one.kind === 'add') {
      const file = await files.find(one.path)
      if (file.text !== undefined)
        throw new WorkspaceError('EXISTS', `${file.path} exists already.`, 'Update it instead of adding it.')
      changes.push({ file, after: one.text })
      continue
    }
    const file = await files.existing(one.path)
    if (one.kind === 'remove') {
      changes.push({ file, after: undefined })
      continue
    }
    const { text, restore } = plainText(file.text)
    const after = restore(applyHunks(text, one.hunks, file.path))
    if (one.movedTo === undefined) changes.push({ file, after })
    else {
      const target = await files.find(one.movedTo)
      if (target.text !== undefined)
        throw new WorkspaceError('EXISTS', `${target.path} exists already.`, 'Choose another name.')
      changes.push({ file, after: undefined }, { file: { ...target, mode: file.mode }, after })
    }
  }
  return changes
}
