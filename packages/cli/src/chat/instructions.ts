// instructions.ts: AGENTS.md and CLAUDE.md: the user's own count at once; those of a project are text of the repository, so
// the user sees them once and decides, and exactly that text is recorded. A changed file is asked about again.
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { plugboardHome, stateFolder } from '@plugboard/core/config'
import type { Host } from '@plugboard/core/host'
import { lazyModule } from '@plugboard/core/lazy'
import { questionText } from '@plugboard/core/text/question-text'
import { type Asker, askWhole } from '../terminal/permission-prompt.ts'

export interface InstructionFile {
  readonly path: string
  /** As it is named to the user and to the model. */
  readonly name: string
  readonly origin: 'user' | 'project'
  readonly text: string
}

const NAMES = ['AGENTS.md', 'CLAUDE.md'] as const
const MOST_CHARS = 100_000
const RECORDS = 'chat-instructions.json'

interface Records {
  /** path → the hash of the text, and the answer. */
  [path: string]: { readonly hash: string; readonly use: boolean }
}

/** Finds the files; those of the project that are not decided yet are separate. */
export function findInstructions(host: Host, root: string) {
  const records = readRecords(host)
  const own = NAMES.flatMap((name) =>
    readFile(join(plugboardHome(host), name), `~/.plugboard/${name}`, 'user'),
  )
  const project = NAMES.flatMap((name) => readFile(join(root, name), name, 'project'))
  const known = (file: InstructionFile) => {
    const record = records[file.path]
    return record?.hash === hashOf(file.text) ? record : undefined
  }
  return {
    used: [...own, ...unlike(project.filter((file) => known(file)?.use === true))],
    undecided: unlike(project.filter((file) => known(file) === undefined)),
  }
}

/** Shows a file of the project in full and records the answer. */
export async function decideInstructions(file: InstructionFile, host: Host, asker: Asker): Promise<boolean> {
  const { columns, rows } = asker.size()
  const question = questionText(
    {
      head: `Give ${file.name} of this project to the model as instructions?`,
      tone: {
        role: 'writes',
        text: 'It is text of the repository. You are asked once for exactly this text.',
      },
      values: file.text,
    },
    { columns, rows: Math.max(6, rows - 8) },
  )
  const answer = await askWhole(
    asker,
    question,
    [
      { means: 'yes', key: 'y', label: '(y)es', agrees: true },
      { means: 'no', key: 'n', label: '(n)o', agrees: false },
    ],
    'later' as const,
  )
  if (answer === 'later') return false
  writeRecord(host, file, answer === 'yes')
  return answer === 'yes'
}

/** As a part of the system prompt. */
export function instructionText(files: readonly InstructionFile[]): string | undefined {
  if (files.length === 0) return undefined
  return files
    .map(({ name, text }) => `Instructions from ${name}, which the user accepted:\n${text}`)
    .join('\n\n')
}

/** CLAUDE.md is often a copy of AGENTS.md. */
function unlike(files: readonly InstructionFile[]): readonly InstructionFile[] {
  return files.filter(({ text }, at) => files.findIndex((other) => other.text === text) === at)
}

function readFile(path: string, name: string, origin: InstructionFile['origin']): readonly InstructionFile[] {
  try {
    const text = lazyModule('node:fs').readFileSync(path, 'utf8')
    return text.trim() === '' ? [] : [{ path, name, origin, text: text.slice(0, MOST_CHARS) }]
  } catch {
    // There is none.
    return []
  }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

function readRecords(host: Host): Records {
  try {
    const records: unknown = JSON.parse(
      lazyModule('node:fs').readFileSync(join(stateFolder(host), RECORDS), 'utf8'),
    )
    return typeof records === 'object' && records !== null ? (records as Records) : {}
  } catch {
    // None yet, or damaged: then the user is asked again.
    return {}
  }
}

function writeRecord(host: Host, { path, text }: InstructionFile, use: boolean): void {
  const fs = lazyModule('node:fs')
  const folder = stateFolder(host)
  const records = { ...readRecords(host), [path]: { hash: hashOf(text), use } }
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 })
  fs.writeFileSync(join(folder, RECORDS), `${JSON.stringify(records, null, 2)}\n`, { mode: 0o600 })
}
