// The index of a tree that is edited without end stays in proportion to the tree: on disk, and in open files.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Codebase } from '../codebase.ts'
import { eventually, type Scratch, scratch } from '../fixtures/test-folders.ts'
import { SEMANTIC_LIMITS } from '../limits.ts'
import type { CodebaseOptions } from '../types.ts'

const FILES = 40
/** One file is edited every time, and another with it that is not edited again: no segment is ever wholly stale. */
const EDITS = 2 * FILES

let tree: Scratch
let cache: Scratch
let code: Codebase | undefined
beforeEach(() => {
  tree = scratch()
  cache = scratch()
  for (let n = 0; n < FILES; n++) tree.write(`f${n}.ts`, text(n, 'first'))
})
afterEach(async () => {
  await code?.close()
  code = undefined
  tree.remove()
  cache.remove()
})

const text = (n: number, word: string) => `export function number${n}() {\n  return '${word}'\n}\n`
const open = (embeddings: CodebaseOptions['embeddings'] & object) => {
  code = new Codebase({ root: tree.folder, cacheDir: cache.folder, embeddings })
  return code
}

async function settle(opened: Codebase): Promise<void> {
  opened.warmUp()
  await eventually(async () => !(await opened.status()).meaning.working, 'the end of a refresh')
}

async function editOften(opened: Codebase): Promise<void> {
  await settle(opened)
  for (let n = 0; n < EDITS; n++) {
    tree.write('always.ts', text(1000, `edit ${n}`))
    tree.write(`f${n % FILES}.ts`, text(n % FILES, `edit ${n}`))
    await settle(opened)
  }
}

const segments = () => {
  const [own = ''] = readdirSync(cache.folder)
  return readdirSync(join(cache.folder, own)).filter((name) => name.endsWith('.chk')).length
}

const heldOpen = () =>
  readdirSync('/proc/self/fd').filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`).includes(cache.folder)
    } catch {
      // The one that lists them is closed by now.
      return false
    }
  }).length

describe('edits without end', () => {
  it('leave few segments, few open files, and every file to be found', async () => {
    const opened = open({ kind: 'none' })
    await editOften(opened)
    // One more small segment may have come since they were last counted, and the big ones are few.
    expect(segments()).toBeLessThanOrEqual(SEMANTIC_LIMITS.smallSegments + 2)
    if (process.platform === 'linux') expect(heldOpen()).toBeLessThanOrEqual(segments() + 2)
    expect((await opened.status()).meaning).toMatchObject({ files: FILES + 1, files_indexed: FILES + 1 })
    for (const n of [0, 17, FILES - 1]) {
      const query = {
        query: `number${n}`,
        mode: 'text',
        language: undefined,
        path: undefined,
        maxResults: 1,
      } as const
      const { results } = await opened.semanticSearch(query)
      expect(results).toMatchObject([
        { file_path: `f${n}.ts`, text: readFileSync(join(tree.folder, `f${n}.ts`), 'utf8') },
      ])
    }
  }, 60_000)

  it('leave few segments also while the model fails', async () => {
    const endpoint = createServer((_, res) => res.writeHead(401).end())
    await new Promise<void>((done) => endpoint.listen(0, '127.0.0.1', done))
    try {
      const { port } = endpoint.address() as AddressInfo
      const url = `http://127.0.0.1:${port}/v1`
      const opened = open({ kind: 'endpoint', url, model: 'refusing', dimensions: 2 })
      await settle(opened)
      const before = segments()
      for (let n = 0; n < 10; n++) {
        tree.write('always.ts', text(1000, `edit ${n}`))
        await settle(opened)
      }
      expect((await opened.status()).meaning.problem).toContain('401')
      expect(segments()).toBe(before + 1)
    } finally {
      endpoint.close()
    }
  }, 60_000)
})
