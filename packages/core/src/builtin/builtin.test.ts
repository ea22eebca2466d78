// The built-in code search on a real board: what a model sees of its results, and which calls prompt the user.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openBoard } from '../board/open.ts'
import type { Board } from '../board.ts'
import { systemHost } from '../host.ts'

let top: string
let board: Board
const asked: string[] = []
beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), 'plugboard-builtin-'))
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(top, path)), { recursive: true })
    writeFileSync(join(top, path), text)
  }
  write('project/.env', 'TOKEN=x')
  write('project/.gitignore', 'dist/\n')
  write('project/dist/out.js', 'built')
  for (let n = 0; n < 12; n++)
    write(
      `project/src/part${n}.ts`,
      `/** Adds ${n}. */\nexport function add${n}(value: number) {\n  return value + ${n}\n}\n`,
    )
  mkdirSync(join(top, 'home'))
  execFileSync('git', ['init', '-q'], { cwd: join(top, 'project') })
  const env = { PATH: process.env.PATH, HOME: join(top, 'home'), PLUGBOARD_EMBEDDINGS_MODEL: 'none' }
  board = await openBoard({
    cwd: join(top, 'project'),
    host: systemHost({ env, home: join(top, 'home') }),
    ask: async ({ reason }) => {
      asked.push(reason.text)
      return 'no'
    },
  })
})
afterAll(async () => {
  await board.close()
  rmSync(top, { recursive: true, force: true })
})

describe('what a model is shown', () => {
  it.each([
    ['search_code', { query: 'return value' }],
    ['search_by_embedding', { query: 'adds a number' }],
    ['read_file', { file_path: 'src/part3.ts' }],
    ['list_directory', { path: 'src' }],
    ['chunk_file', { file_path: 'src/part3.ts' }],
    ['chunk_files', { file_paths: ['src/part3.ts', 'src/part4.ts'] }],
  ])('of %s is said once, as text; the structure is for programs', async (tool, args) => {
    const { content, structuredContent } = await board.call(`codebase.${tool}`, args)
    expect(content).toHaveLength(1)
    const shown = content.map((block) => ('text' in block ? block.text : '')).join('')
    const structured = JSON.stringify(structuredContent, undefined, 2)
    expect(shown.length).toBeGreaterThan(0)
    expect(structured.length).toBeGreaterThan(0)
    // A model that sees both pays for at least twice the characters.
    expect((shown.length + structured.length) / shown.length).toBeGreaterThan(2)
    expect(shown).not.toContain('"file_path"')
  })
})

describe('a call by its arguments', () => {
  it('is asked about when it names what search does not show', async () => {
    asked.length = 0
    await expect(board.call('codebase.read_file', { file_path: '.env' })).rejects.toThrow(/denied/)
    await expect(board.call('codebase.list_directory', { path: 'dist' })).rejects.toThrow(/denied/)
    expect(asked).toEqual([expect.stringContaining('hidden'), expect.stringContaining('ignore rules')])
    expect((await board.call('codebase.read_file', { file_path: 'src/part1.ts' })).isError).toBe(false)
    expect(asked).toHaveLength(2)
  })

  it('is refused for an argument that does not exist, with the one that was meant', async () => {
    const call = board.call('codebase.read_file', { path: 'src/part1.ts' })
    await expect(call).rejects.toThrow(/path/)
  })
})

it('is disabled, with the reason, in a home folder', async () => {
  const home = join(top, 'home')
  const there = await openBoard({ cwd: home, host: systemHost({ env: { HOME: home, PATH: '' }, home }) })
  expect(there.servers().find(({ name }) => name === 'codebase')).toMatchObject({ state: 'disabled' })
  expect(JSON.stringify(there.servers())).toContain('is your home folder')
  await there.close()
})
