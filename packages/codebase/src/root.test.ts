import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Codebase } from './codebase.ts'
import { type Scratch, scratch, textQuery } from './fixtures/test-folders.ts'

describe('confinement to the root', () => {
  let outer: Scratch
  let code: Codebase
  let root: string

  beforeAll(() => {
    outer = scratch({
      'secret.txt': 'top secret needle',
      'outside/inner.txt': 'needle outside',
      'root/a.txt': 'needle inside\n',
      'root/sub/b.txt': 'needle below\n',
      'root-twin/c.txt': 'needle in a folder whose name begins alike',
    })
    root = join(outer.folder, 'root')
    symlinkSync('../secret.txt', join(root, 'link-out'))
    symlinkSync(join(outer.folder, 'outside'), join(root, 'folder-out'))
    symlinkSync('a.txt', join(root, 'link-in'))
    symlinkSync('sub', join(root, 'folder-in'))
    symlinkSync('loop', join(root, 'loop'))
    code = new Codebase({ root, index: false })
  })
  afterAll(async () => {
    await code.close()
    outer.remove()
  })

  const refused: readonly (readonly [what: string, path: () => string, code: string])[] = [
    ['..', () => '../secret.txt', 'OUTSIDE_ROOT'],
    ['.. in the middle', () => 'sub/../../secret.txt', 'OUTSIDE_ROOT'],
    ['an absolute path', () => join(outer.folder, 'secret.txt'), 'OUTSIDE_ROOT'],
    ['an absolute path of the system', () => '/etc/passwd', 'OUTSIDE_ROOT'],
    ['a folder whose name begins alike', () => '../root-twin/c.txt', 'OUTSIDE_ROOT'],
    ['a link out', () => 'link-out', 'OUTSIDE_ROOT'],
    ['a file behind a folder link out', () => 'folder-out/inner.txt', 'OUTSIDE_ROOT'],
    ['Windows separators', () => '..\\secret.txt', 'OUTSIDE_ROOT'],
    ['a drive letter', () => 'C:\\Windows\\win.ini', 'OUTSIDE_ROOT'],
    ['a network path', () => '\\\\host\\share\\x', 'OUTSIDE_ROOT'],
    ['a NUL byte', () => 'a.txt\0.png', 'BAD_INPUT'],
    ['a missing file', () => 'nothing.txt', 'NOT_FOUND'],
    ['a link to itself', () => 'loop', 'IO'],
    ['a name with a newline that is not there', () => 'a\n.txt', 'NOT_FOUND'],
    ['a path longer than any system takes', () => 'x/'.repeat(3000), 'BAD_INPUT'],
  ]
  it.each(refused)('refuses %s, for reading, chunking, listing and searching', async (_, path, expected) => {
    await expect(code.read(path(), {})).rejects.toMatchObject({ code: expected })
    await expect(code.chunkFile(path())).rejects.toMatchObject({ code: expected })
    await expect(code.list(path(), { depth: 1, glob: [] })).rejects.toMatchObject({ code: expected })
    await expect(code.searchCode(textQuery('needle', { path: path() }))).rejects.toMatchObject({
      code: expected,
    })
  })

  it('follows links that stay inside, and takes absolute paths and Windows separators that do', async () => {
    for (const path of ['link-in', 'folder-in/../a.txt', join(root, 'a.txt'), './a.txt'])
      expect((await code.read(path, {})).text).toBe('needle inside\n')
    expect((await code.read('sub\\b.txt', {})).text).toBe('needle below\n')
    expect((await code.read('folder-in/b.txt', {})).text).toBe('needle below\n')
  })

  it('never searches through a link', async () => {
    const { matches } = await code.searchCode(textQuery('needle'))
    expect(matches.map(({ file_path }) => file_path)).toEqual(['a.txt', 'sub/b.txt'])
  })

  it('does not let a glob or a pattern reach out', async () => {
    const { matches } = await code.searchCode(textQuery('needle', { glob: ['../**', '/etc/**'] }))
    expect(matches).toEqual([])
    expect((await code.list('.', { depth: 5, glob: ['../*'] })).entries).toEqual([])
  })

  it('notices a folder that becomes a link between two reads', async () => {
    mkdirSync(join(root, 'swapped'))
    outer.write('root/swapped/inner.txt', 'mine')
    expect((await code.read('swapped/inner.txt', {})).text).toBe('mine')
    renameSync(join(root, 'swapped'), join(outer.folder, 'moved'))
    symlinkSync(join(outer.folder, 'outside'), join(root, 'swapped'))
    await expect(code.read('swapped/inner.txt', {})).rejects.toMatchObject({ code: 'OUTSIDE_ROOT' })
    rmSync(join(root, 'swapped'))
  })
})

describe('odd files', () => {
  let tree: Scratch
  let code: Codebase
  beforeAll(() => {
    tree = scratch({
      'folder/x.txt': 'x',
      'latin1.txt': Uint8Array.from([0x63, 0x61, 0x66, 0xe9, 0x0a]),
      'binary.dat': Uint8Array.from([1, 2, 0, 3]),
      'utf16.txt': Buffer.from('\ufeffhello\n', 'utf16le'),
      'new\nline.txt': 'odd name\n',
      'empty.txt': '',
    })
    code = new Codebase({ root: tree.folder, index: false })
  })
  afterAll(async () => {
    await code.close()
    tree.remove()
  })

  it('says what a path is when it is no text file', async () => {
    await expect(code.read('folder', {})).rejects.toMatchObject({ code: 'IS_DIRECTORY' })
    await expect(code.list('empty.txt', { depth: 1, glob: [] })).rejects.toMatchObject({
      code: 'NOT_A_DIRECTORY',
    })
    await expect(code.read('latin1.txt', {})).rejects.toMatchObject({ code: 'NOT_TEXT' })
    await expect(code.read('binary.dat', {})).rejects.toMatchObject({ code: 'NOT_TEXT' })
    expect(await code.read('utf16.txt', {})).toMatchObject({ text: 'hello\n', encoding: 'utf-16le' })
    expect((await code.read('new\nline.txt', {})).text).toBe('odd name\n')
    expect(await code.read('empty.txt', {})).toMatchObject({ text: '', total_lines: 0 })
  })

  it.skipIf(process.platform === 'win32')('does not wait for a FIFO, nor read a device', async () => {
    execFileSync('mkfifo', [join(tree.folder, 'pipe')])
    await expect(code.read('pipe', {})).rejects.toMatchObject({ code: 'NOT_A_FILE' })
    symlinkSync('/dev/zero', join(tree.folder, 'zero'))
    await expect(code.read('zero', {})).rejects.toMatchObject({ code: 'OUTSIDE_ROOT' })
    const dev = new Codebase({ root: '/dev', index: false })
    await expect(dev.read('zero', {})).rejects.toMatchObject({ code: 'NOT_A_FILE' })
    await dev.close()
  })

  it('refuses a file of 2 GB without reading it, and says what to do instead', async () => {
    const big = tree.write('big.txt', '')
    execFileSync('truncate', ['-s', '2G', big])
    await expect(code.read('big.txt', {})).rejects.toMatchObject({
      code: 'TOO_LARGE',
      hint: expect.stringContaining('start_line'),
    })
    await expect(code.chunkFile('big.txt')).rejects.toMatchObject({ code: 'TOO_LARGE' })
    rmSync(big)
  })

  it('reads a range of lines and says when there is more', async () => {
    tree.write('lines.txt', Array.from({ length: 100 }, (_, n) => `line ${n + 1}`).join('\n'))
    expect(await code.read('lines.txt', { start: 99 })).toMatchObject({
      text: 'line 99\nline 100',
      end_line: 100,
    })
    expect(await code.read('lines.txt', { start: 2, end: 3 })).toMatchObject({ text: 'line 2\nline 3\n' })
    await expect(code.read('lines.txt', { start: 101 })).rejects.toMatchObject({ code: 'BAD_INPUT' })
    await expect(code.read('lines.txt', { start: 3, end: 2 })).rejects.toMatchObject({ code: 'BAD_INPUT' })
    tree.write('long.txt', 'x'.repeat(99).concat('\n').repeat(30_000))
    const cut = await code.read('long.txt', {})
    expect(cut.truncated).toBe(true)
    expect(cut.text.endsWith('\n')).toBe(true)
  })

  it('says that the root is gone', async () => {
    const gone = scratch({ 'a.txt': 'x' })
    const lost = new Codebase({ root: gone.folder, index: false })
    gone.remove()
    await expect(lost.searchCode(textQuery('x'))).rejects.toMatchObject({ code: 'ROOT_GONE' })
    await expect(lost.read('a.txt', {})).rejects.toMatchObject({ code: 'ROOT_GONE' })
    await lost.close()
  })
})
