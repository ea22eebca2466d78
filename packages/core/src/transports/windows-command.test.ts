import { describe, expect, it } from 'vitest'
import { resolveWindowsCommand } from './windows-command.ts'

const env = {
  Path: 'C:\\Tools;"C:\\Program Files\\nodejs\\"',
  PATHEXT: '.COM;.EXE;.BAT;.CMD',
  ComSpec: 'C:\\Windows\\cmd.exe',
}
const files = [
  'C:\\Program Files\\nodejs\\npx',
  'C:\\Program Files\\nodejs\\npx.CMD',
  'C:\\Program Files\\nodejs\\node.EXE',
]
const exists = (path: string) => files.includes(path)
const resolve = (command: string, args: string[] = []) => resolveWindowsCommand(command, args, env, exists)

/** What cmd.exe leaves of a line: a caret makes the next character plain. */
const uncaret = (text: string) => text.replace(/\^(.)/g, '$1')

describe('a command on Windows', () => {
  it('that is a program is started as it is', () => {
    expect(resolve('node', ['a b'])).toEqual({
      file: 'C:\\Program Files\\nodejs\\node.EXE',
      args: ['a b'],
      verbatim: false,
    })
  })

  it('that is a batch file goes through cmd.exe, and the file without an extension beside it is passed over', () => {
    const { file, args, verbatim } = resolve('npx', ['-y', 'server'])
    expect(file).toBe('C:\\Windows\\cmd.exe')
    expect(verbatim).toBe(true)
    expect(args.slice(0, 4)).toEqual(['/d', '/s', '/v:off', '/c'])
    expect(uncaret(args[4] ?? '')).toContain('C:\\Program Files\\nodejs\\npx.CMD')
  })

  it('leaves no character of an argument for cmd.exe to act on, neither at the first reading nor at the second', () => {
    const evil = 'a" & calc.exe | %PATH% !x! ^ > out (b) c:\\d\\'
    const [, , , , line = ''] = resolve('npx', [evil]).args
    const second = uncaret(line.slice(1, -1))
    for (const reading of [line.slice(1, -1), second])
      expect(reading.replace(/\^./g, '')).not.toMatch(/[&|<>()%!"]/)
    expect(uncaret(second)).toContain('"a\\" & calc.exe | %PATH% !x! ^ > out (b) c:\\d\\\\"')
  })

  it('refuses an argument that cmd.exe cannot carry', () => {
    expect(() => resolve('npx', ['a\nb'])).toThrow(/line break/)
  })

  it('that is nowhere on PATH is looked for nowhere else, above all not in the folder it starts in', () => {
    const system = { ...env, SystemRoot: 'C:\\Windows' }
    const seen: string[] = []
    const found = resolveWindowsCommand(
      'nothing',
      ['x'],
      { ...system, Path: `.;;tools;${env.Path}` },
      (path) => {
        seen.push(path)
        return false
      },
    )
    expect(found).toEqual({ file: 'C:\\Windows\\System32\\nothing', args: ['x'], verbatim: false })
    expect(seen.every((path) => path.startsWith('C:\\'))).toBe(true)
  })

  it('is found by what a bare environment lacks', () => {
    const bare = { Path: 'C:\\Tools' }
    const tools = (path: string) => ['C:\\Tools\\npx.CMD', 'C:\\Tools\\node.EXE'].includes(path)
    expect(resolveWindowsCommand('node', [], bare, tools).file).toBe('C:\\Tools\\node.EXE')
    expect(resolveWindowsCommand('npx', [], bare, tools).file).toBe('C:\\Windows\\System32\\cmd.exe')
    expect(resolveWindowsCommand('npx', [], { ...bare, SystemRoot: 'D:\\W' }, tools).file).toBe(
      'D:\\W\\System32\\cmd.exe',
    )
    expect(resolveWindowsCommand('nothing', [], { ...bare, COMSPEC: '' }, tools).file).toBe(
      'C:\\Windows\\System32\\nothing',
    )
  })

  it('that is a path is not looked for on PATH', () => {
    const all = (path: string) => path.startsWith('C:\\Tools\\')
    const at = (command: string) => resolveWindowsCommand(command, [], { Path: 'C:\\Tools' }, all).file
    expect([at('x'), at('sub\\x'), at('sub/x')]).toEqual(['C:\\Tools\\x.COM', 'sub\\x', 'sub/x'])
    expect(resolveWindowsCommand('D:x', [], { Path: 'C:\\Tools' }, (path) => path === 'D:x.EXE').file).toBe(
      'D:x.EXE',
    )
  })

  it.each(['C:\\gone\\x', '..\\x', 'x/y'])('that is a path (%s) and is not there stays that path', (path) => {
    expect(resolve(path).file).toBe(path)
  })
})
