// patch-syntax.ts: reads a patch in either of the two forms that models write: a unified diff (`---`, `+++`, `@@ -1,3 +1,4 @@`) or
// the envelope `*** Begin Patch`. Both become the same list of files and hunks. It reads no file.
import { WorkspaceError } from './errors.ts'
import { WORKSPACE_LIMITS } from './limits.ts'

export interface Hunk {
  /** Where the diff says that it starts, from 1; undefined when it does not say. */
  readonly line?: number
  /** A line above it, such as the head of its function. */
  readonly below?: string
  readonly lines: readonly { readonly kind: 'same' | 'added' | 'removed'; readonly text: string }[]
  /** The new file ends without a line break after this hunk; undefined when it does not say. */
  readonly endsOpen?: boolean
}

export type FilePatch =
  | { readonly kind: 'add'; readonly path: string; readonly text: string }
  | { readonly kind: 'remove'; readonly path: string }
  | {
      readonly kind: 'update'
      readonly path: string
      readonly movedTo?: string
      readonly hunks: readonly Hunk[]
    }

export function parsePatch(patch: string): readonly FilePatch[] {
  if (patch.length > WORKSPACE_LIMITS.textChars)
    throw new WorkspaceError('TOO_LARGE', 'The patch is too large.')
  const lines = patch.replaceAll('\r\n', '\n').split('\n')
  const begin = lines.findIndex((line) => line.trim() === '*** Begin Patch')
  const files = begin >= 0 ? envelope(lines.slice(begin + 1)) : unified(lines)
  if (files.length === 0)
    throw bad(
      'It names no file',
      'Give a unified diff with `--- a/FILE` and `+++ b/FILE`, or `*** Begin Patch`.',
    )
  if (files.length > WORKSPACE_LIMITS.patchFiles)
    throw new WorkspaceError('TOO_LARGE', `The patch changes ${files.length} files.`, 'Split it.')
  return files
}

function bad(what: string, hint?: string): WorkspaceError {
  return new WorkspaceError('BAD_PATCH', `The patch cannot be read: ${what}.`, hint)
}

class Lines {
  #at = 0
  readonly #lines: readonly string[]

  constructor(lines: readonly string[]) {
    this.#lines = lines
  }

  get number(): number {
    return this.#at + 1
  }

  peek(): string | undefined {
    return this.#lines[this.#at]
  }

  next(): string | undefined {
    return this.#lines[this.#at++]
  }
}

function unified(all: readonly string[]): FilePatch[] {
  const lines = new Lines(all)
  const files: FilePatch[] = []
  let renamed: { from?: string; to?: string } = {}
  const flushRename = () => {
    if (renamed.from !== undefined && renamed.to !== undefined)
      files.push({ kind: 'update', path: renamed.from, movedTo: renamed.to, hunks: [] })
    renamed = {}
  }
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    if (line.startsWith('GIT binary patch') || /^Binary files .* differ$/.test(line))
      throw bad('it changes a binary file')
    if (line.startsWith('diff --git ')) flushRename()
    if (line.startsWith('rename from ')) renamed.from = plainPath(line.slice(12))
    if (line.startsWith('rename to ')) renamed.to = plainPath(line.slice(10))
    if (line.startsWith('@@ '))
      throw bad(`line ${lines.number - 1} has a hunk without \`---\` and \`+++\` above`)
    if (!line.startsWith('--- ') || lines.peek()?.startsWith('+++ ') !== true) continue
    const [from, to] = [plainPath(line.slice(4)), plainPath((lines.next() ?? '').slice(4))]
    renamed = {}
    files.push(fileOf(from, to, unifiedHunks(lines)))
  }
  flushRename()
  return files
}

function fileOf(from: string, to: string, hunks: readonly Hunk[]): FilePatch {
  const isNew = from === '/dev/null'
  if (to === '/dev/null' && !isNew) return { kind: 'remove', path: stripped(from, 'a/') }
  if (isNew) {
    const text = hunks.flatMap(({ lines }) => lines.map((line) => line.text)).join('\n')
    const endsOpen = hunks.at(-1)?.endsOpen === true
    return { kind: 'add', path: stripped(to, 'b/'), text: text === '' || endsOpen ? text : `${text}\n` }
  }
  const isGit = from.startsWith('a/') && to.startsWith('b/')
  const [path, target] = isGit ? [from.slice(2), to.slice(2)] : [from, to]
  return { kind: 'update', path, hunks, ...(target !== path && isGit && { movedTo: target }) }
}

const stripped = (path: string, prefix: string) =>
  path.startsWith(prefix) ? path.slice(prefix.length) : path

/** A time stamp may follow after a tab. */
function plainPath(written: string): string {
  const path = written.split('\t')[0]?.trim() ?? ''
  if (path.startsWith('"')) throw bad('it has a quoted file name', 'Use edit_file for a file of such a name.')
  if (path === '') throw bad('a file name is empty')
  return path
}

/** Counts of a hunk's head are often wrong in texts that models write, so its lines decide, not its counts. */
function unifiedHunks(lines: Lines): Hunk[] {
  const hunks: Hunk[] = []
  for (let head = lines.peek(); head?.startsWith('@@'); head = lines.peek()) {
    lines.next()
    const [, start] = /^@@ -(\d+)(?:,\d+)? \+\d+(?:,\d+)? @@/.exec(head) ?? []
    const body = hunkLines(lines, (line) => line.startsWith('--- ') || line.startsWith('diff --git '))
    hunks.push({ ...(start !== undefined && { line: Number(start) }), ...body })
  }
  return hunks
}

function hunkLines(lines: Lines, isEnd: (line: string) => boolean): Pick<Hunk, 'lines' | 'endsOpen'> {
  const body: { kind: 'same' | 'added' | 'removed'; text: string }[] = []
  let endsOpen: boolean | undefined
  for (let line = lines.peek(); line !== undefined; line = lines.peek()) {
    if (line.startsWith('@@') || isEnd(line)) break
    lines.next()
    if (line.startsWith('\\')) {
      const last = body.at(-1)?.kind
      endsOpen = last !== 'removed'
    } else if (line.startsWith('+')) body.push({ kind: 'added', text: line.slice(1) })
    else if (line.startsWith('-')) body.push({ kind: 'removed', text: line.slice(1) })
    else if (line.startsWith(' ')) body.push({ kind: 'same', text: line.slice(1) })
    // An empty line of context whose only space was trimmed, or the end of the text.
    else if (line === '') {
      if (lines.peek() === undefined || isEnd(lines.peek() ?? '') || lines.peek()?.startsWith('***')) break
      body.push({ kind: 'same', text: '' })
    } else throw bad(`line ${lines.number - 1} of a hunk starts with none of " ", "+", "-"`)
  }
  return { lines: body, ...(endsOpen !== undefined && { endsOpen }) }
}

const FILE_HEADS = {
  add: '*** Add File: ',
  remove: '*** Delete File: ',
  update: '*** Update File: ',
} as const
const MOVE = '*** Move to: '

function envelope(all: readonly string[]): FilePatch[] {
  const lines = new Lines(all)
  const files: FilePatch[] = []
  for (let line = lines.next(); line !== undefined; line = lines.next()) {
    if (line.trim() === '*** End Patch') return files
    if (line.trim() === '') continue
    if (line.startsWith(FILE_HEADS.remove))
      files.push({ kind: 'remove', path: plainPath(line.slice(FILE_HEADS.remove.length)) })
    else if (line.startsWith(FILE_HEADS.add))
      files.push({ kind: 'add', path: plainPath(line.slice(FILE_HEADS.add.length)), text: addedText(lines) })
    else if (line.startsWith(FILE_HEADS.update)) files.push(updatedFile(line, lines))
    else throw bad(`"${line.slice(0, 60)}" is not expected between files`)
  }
  throw bad('*** End Patch is missing', 'Was it cut off? Send it whole.')
}

function addedText(lines: Lines): string {
  const text: string[] = []
  for (let line = lines.peek(); line?.startsWith('+'); line = lines.peek())
    text.push((lines.next() ?? '').slice(1))
  return text.length === 0 ? '' : `${text.join('\n')}\n`
}

function updatedFile(head: string, lines: Lines): FilePatch {
  const path = plainPath(head.slice(FILE_HEADS.update.length))
  const moves = lines.peek()?.startsWith(MOVE)
  const movedTo = moves ? plainPath((lines.next() ?? '').slice(MOVE.length)) : undefined
  const hunks: Hunk[] = []
  for (let line = lines.peek(); line !== undefined; line = lines.peek()) {
    if (line.startsWith('*** End of File')) {
      lines.next()
      continue
    }
    if (line.startsWith('***')) break
    if (line.startsWith('@@')) lines.next()
    const below = line.startsWith('@@') ? line.slice(2).trim() : ''
    const body = hunkLines(lines, (next) => next.startsWith('***'))
    if (body.lines.length > 0) hunks.push({ ...(below !== '' && { below }), ...body })
    else if (!line.startsWith('@@')) lines.next()
  }
  return { kind: 'update', path, hunks, ...(movedTo !== undefined && { movedTo }) }
}
