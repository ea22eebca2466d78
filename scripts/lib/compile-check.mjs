// compile-check.mjs: which edits does the compiler refuse? An edit that cannot be compiled could not be committed, so it
// does not count. Edits of different files are checked together: the compiler says in which file the error is.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { withMutant } from './mutants.mjs'
import { replaceFile } from './mutation-run.mjs'

/** The ids of the edits that do not compile; `dir` is a copy of the tree, which is as before afterwards. */
export function refusedByCompiler(dir, mutants) {
  const faulty = faultyFiles(dir)
  if (faulty.size > 0)
    throw new Error(`the sources do not compile without any edit: ${[...faulty].join(', ')}`)
  const refused = new Set()
  for (const round of rounds(mutants)) for (const { id } of refusedIn(dir, round)) refused.add(id)
  return refused
}

/** An error in an edited file is that edit's; one elsewhere is searched for by halves: an edit changed a type. */
function refusedIn(dir, group) {
  const found = withEdits(dir, group, () => faultyFiles(dir))
  if (found.size === 0) return []
  if (group.length === 1) return group
  const refused = group.filter(({ file }) => found.has(file))
  const rest = group.filter(({ file }) => !found.has(file))
  if (refused.length === found.size || rest.length === 0) return refused
  if (refused.length > 0) return [...refused, ...refusedIn(dir, rest)]
  const half = Math.ceil(rest.length / 2)
  return [...refusedIn(dir, rest.slice(0, half)), ...refusedIn(dir, rest.slice(half))]
}

/** Lists of edits, at most one for each file. */
function rounds(mutants) {
  const lists = []
  for (const mutant of mutants) {
    const free = lists.find((list) => list.every(({ file }) => file !== mutant.file))
    if (free) free.push(mutant)
    else lists.push([mutant])
  }
  return lists
}

function withEdits(dir, mutants, look) {
  for (const mutant of mutants) replaceFile(dir, mutant.file, withMutant(mutant.text, mutant))
  try {
    return look()
  } finally {
    for (const { file, text } of mutants) replaceFile(dir, file, text)
  }
}

function faultyFiles(dir) {
  const tsc = join(dir, 'node_modules/typescript/bin/tsc')
  const args = [
    '-p',
    'tsconfig.json',
    '--incremental',
    '--tsBuildInfoFile',
    'node_modules/.mutation.tsbuildinfo',
  ]
  const { stdout } = spawnSync(process.execPath, [tsc, ...args, '--pretty', 'false'], {
    cwd: dir,
    encoding: 'utf8',
  })
  return new Set([...stdout.matchAll(/^([^\s(]+)\(\d+,\d+\): error /gm)].map(([, file]) => file))
}
