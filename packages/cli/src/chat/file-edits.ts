// file-edits.ts: calls that change a file of the project, recognised by their arguments (a path with a content, or texts to
// replace): the difference to show, and the state before, for /undo. It reads files of the project only.
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { isObject } from '@plugboard/core/json'
import { lazyModule } from '@plugboard/core/lazy'
import { type DiffLine, lineDiff } from '@plugboard/core/text/line-diff'

export interface FileEdit {
  /** As the call names it. */
  readonly path: string
  readonly file: string
  /** Undefined when there is no such file yet. */
  readonly before: string | undefined
  readonly diff: readonly DiffLine[]
}

const PATHS = ['path', 'file_path', 'filePath', 'file', 'filename'] as const
const CONTENTS = ['content', 'contents', 'text', 'data', 'file_text'] as const
const OLD = ['oldText', 'old_text', 'old_string', 'old_str', 'oldString', 'search'] as const
const NEW = ['newText', 'new_text', 'new_string', 'new_str', 'newString', 'replace'] as const
const MOST_BYTES = 2 * 1024 * 1024
const MOST_UNDO = 50

/** The edit that a call would make, if it is one. `writes` is false for tools that only read. */
export function fileEditOf(args: unknown, root: string): FileEdit | undefined {
  if (!isObject(args)) return undefined
  const path = textAt(args, PATHS)
  if (path === undefined || path === '') return undefined
  const file = insideProject(path, root)
  if (file === undefined) return undefined
  const before = readText(file)
  if (before === 'unreadable') return undefined
  const content = textAt(args, CONTENTS)
  if (content !== undefined) return { path, file, before, diff: lineDiff(lf(before ?? ''), lf(content)) }
  const edits = Array.isArray(args['edits']) ? args['edits'] : [args]
  const parts = edits.filter(isObject).flatMap((edit): (readonly [string, string])[] => {
    const [from, to] = [textAt(edit, OLD), textAt(edit, NEW)]
    return from === undefined || to === undefined ? [] : [[from, to]]
  })
  if (parts.length === 0) return undefined
  const diff = parts.flatMap(([from, to]) => lineDiff(lf(from), lf(to)))
  return { path, file, before, diff }
}

const PATCH_KINDS: Readonly<Record<string, DiffLine['kind']>> = { '+': 'added', '-': 'removed', ' ': 'same' }

/** The lines of a patch (`*** Begin Patch …`, or a unified one) as a difference; its headings stay. */
export function patchLines(args: unknown): readonly DiffLine[] | undefined {
  const patch = isObject(args) ? textAt(args, ['patch']) : undefined
  if (patch === undefined) return undefined
  return lf(patch)
    .split('\n')
    .filter((line) => !/^$|^\*\*\* (?:Begin|End) Patch|^@@\s*$/.test(line))
    .map((line, at, all) => {
      // `--- a/file` and `+++ b/file` come as a pair; alone they are lines that begin with `--` or `++`.
      const isFile = line.startsWith('--- ') && all[at + 1]?.startsWith('+++ ')
      const isOther = line.startsWith('+++ ') && all[at - 1]?.startsWith('--- ')
      const isHeading = isFile || isOther || /^(?:\*\*\*|@@|diff |index )/.test(line)
      const kind = isHeading ? undefined : PATCH_KINDS[line[0] ?? '']
      return kind === undefined ? { kind: 'gap', text: line } : { kind, text: line.slice(1) }
    })
}

/** Line ends are not shown. */
const lf = (text: string) => text.replaceAll('\r\n', '\n')

function textAt(object: Readonly<Record<string, unknown>>, keys: readonly string[]): string | undefined {
  for (const key of keys) {
    const value = Object.hasOwn(object, key) ? object[key] : undefined
    if (typeof value === 'string') return value
  }
  return undefined
}

/** The real file, so that a link cannot lead out of the project. */
function insideProject(path: string, root: string): string | undefined {
  const file = isAbsolute(path) ? resolve(path) : resolve(root, path)
  const real = realPath(file)
  const within = relative(realPath(root), real)
  return within === '' || within === '..' || within.startsWith(`..${sep}`) || isAbsolute(within)
    ? undefined
    : file
}

function realPath(path: string): string {
  const fs = lazyModule('node:fs')
  let known = path
  let rest = ''
  for (let depth = 0; depth < 100; depth++) {
    try {
      return join(fs.realpathSync(known), rest)
    } catch {
      // It does not exist yet: the folder above it tells where it would be.
      const parent = resolve(known, '..')
      if (parent === known) return path
      rest = join(relative(parent, known), rest)
      known = parent
    }
  }
  return path
}

function readText(file: string): string | undefined | 'unreadable' {
  const fs = lazyModule('node:fs')
  try {
    const stat = fs.statSync(file, { throwIfNoEntry: false })
    if (!stat) return undefined
    if (!stat.isFile() || stat.size > MOST_BYTES) return 'unreadable'
    const text = fs.readFileSync(file, 'utf8')
    return text.includes('\0') ? 'unreadable' : text
  } catch {
    return 'unreadable'
  }
}

interface MadeEdit {
  readonly file: string
  readonly path: string
  readonly before: string | undefined
  readonly after: string | undefined
}

/** The built-in server keeps a journal of its own edits, on disk, and takes them back itself. */
const JOURNALED = new Set(['write_file', 'edit_file', 'apply_patch'].map((tool) => `mcp__workspace__${tool}`))

export function isJournaled(tool: string): boolean {
  return JOURNALED.has(tool)
}

const NOTHING_LEFT = [
  'No file edit of this conversation is left to undo.',
  'Only calls that name a file of the project and its new text can be undone; what commands and other tools change cannot.',
  '/undo earlier takes back the last edit that the built-in `workspace` made.',
].join(' ')

/** Takes back the last edit in the journal; says what it did. */
export type UndoInJournal = () => Promise<string>

/** What calls changed, the newest last. */
export class EditHistory {
  readonly #edits: (MadeEdit | 'in the journal')[] = []
  readonly #running = new Map<string, FileEdit>()

  starts(id: string, edit: FileEdit): void {
    this.#running.set(id, edit)
  }

  ends(id: string): void {
    const edit = this.#running.get(id)
    this.#running.delete(id)
    if (!edit) return
    const after = readText(edit.file)
    if (after === 'unreadable' || after === edit.before) return
    this.#add({ file: edit.file, path: edit.path, before: edit.before, after })
  }

  /** An edit that the built-in server made. */
  journaled(): void {
    this.#add('in the journal')
  }

  /** Puts the last changed file back; says what it did, or why it did not. */
  async undo(inJournal: UndoInJournal): Promise<string> {
    const edit = this.#edits.at(-1)
    if (!edit) return NOTHING_LEFT
    if (edit === 'in the journal') {
      const said = await inJournal()
      this.#edits.pop()
      return said
    }
    const fs = lazyModule('node:fs')
    if (readText(edit.file) !== edit.after)
      return `${edit.path} was changed again since then, so it stays as it is.`
    if (edit.before === undefined) fs.rmSync(edit.file)
    else fs.writeFileSync(edit.file, edit.before)
    this.#edits.pop()
    return edit.before === undefined ? `Removed ${edit.path}.` : `Put ${edit.path} back as it was.`
  }

  #add(edit: MadeEdit | 'in the journal'): void {
    this.#edits.push(edit)
    if (this.#edits.length > MOST_UNDO) this.#edits.shift()
  }
}
