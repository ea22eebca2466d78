// What the index knows of a tree that changes under it: files that are created, removed and created again while it answers.
import { chmodSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { Codebase } from '../codebase.ts'
import { eventually, type Scratch, scratch, textQuery } from '../fixtures/test-folders.ts'
import { ripgrepPath } from '../ripgrep.ts'
import { DirtyFiles } from './dirty-files.ts'

let tree: Scratch
let cache: Scratch
let code: Codebase
beforeAll(async () => {
  tree = scratch({ '.ignore': '*.log\n' })
  cache = scratch()
  for (let n = 0; n < 450; n++) tree.write(`src/f${n}.ts`, `export const value${n} = ${n}\n`)
  code = new Codebase({ root: tree.folder, cacheDir: cache.folder, embeddings: { kind: 'none' } })
  code.warmUp()
  await eventually(async () => (await code.status()).text.state === 'ready', 'ready', 30_000)
}, 60_000)
afterAll(async () => {
  await code.close()
  tree.remove()
  cache.remove()
})

const find = async (text: string) => {
  const { source, matches } = await code.searchCode(textQuery(text))
  return { source, paths: matches.map(({ file_path }) => file_path) }
}

it('finds a file that was created, removed before it was indexed, and created again', async () => {
  for (const path of ['src/new.ts', 'src/deep/er/new.ts']) {
    tree.write(path, 'comes_and_goes\n')
    rmSync(join(tree.folder, path))
    expect(await find('comes_and_goes')).toEqual({ source: 'index', paths: [] })
    tree.write(path, 'comes_and_goes\n')
    expect(await find('comes_and_goes')).toEqual({ source: 'index', paths: [path] })
    rmSync(join(tree.folder, path))
  }
})

it('leaves out ignored files, however often they change', async () => {
  for (let n = 0; n < 3; n++) {
    tree.write('src/out.log', `never_found ${n}\n`)
    expect(await find('never_found')).toEqual({ source: 'index', paths: [] })
  }
})

it('scans when a change could not be recorded, and finds what changed', async () => {
  const note = vi.spyOn(DirtyFiles.prototype, 'note').mockRejectedValueOnce(new Error('no more processes'))
  tree.write('src/unnoted.ts', 'hard_to_note\n')
  expect((await find('hard_to_note')).paths).toEqual(['src/unnoted.ts'])
  note.mockRestore()
  await eventually(async () => (await find('hard_to_note')).source === 'index', 'trust')
  expect((await find('hard_to_note')).paths).toEqual(['src/unnoted.ts'])
})

it('keeps no list of a glob if a new file appeared while it was made', async () => {
  const small = scratch({ 'a.ts': 'a\n' })
  const aside = scratch()
  const [listed, go] = [join(aside.folder, 'listed'), join(aside.folder, 'go')]
  const real = await ripgrepPath()
  const ripgrep = aside.write(
    'rg',
    `#!/bin/sh
case "$*" in *--glob=*) ;; *) exec '${real}' "$@" ;; esac
'${real}' "$@" > '${listed}.part' && mv '${listed}.part' '${listed}'
while [ ! -e '${go}' ]; do sleep 0.02; done
cat '${listed}'
`,
  )
  chmodSync(ripgrep, 0o755)
  const differences = new DirtyFiles({ root: small.folder, ripgrep, signal: AbortSignal.timeout(20_000) })
  await differences.findFolders()
  const early = differences.globbed(['*.ts'])
  await eventually(() => existsSync(listed), 'the list')
  small.write('b.ts', 'b\n')
  await differences.note(['b.ts'], undefined)
  aside.write('go', '')
  expect(differences.isGlobbed(['*.ts'], await early)).toBe(false)
  expect([...(await differences.globbed(['*.ts']))].sort()).toEqual(['a.ts', 'b.ts'])
  small.remove()
  aside.remove()
})
