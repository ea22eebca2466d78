import { describe, expect, it } from 'vitest'
import type { Key } from './key-decoder.ts'
import { LineEditor } from './line-editor.ts'

const key = (spec: string): Key => {
  const parts = spec.split('-')
  const name = parts.pop() ?? ''
  return {
    kind: 'key',
    name,
    ctrl: parts.includes('ctrl'),
    alt: parts.includes('alt'),
    shift: parts.includes('shift'),
  }
}

/** Text, and keys in brackets. */
function typed(editor: LineEditor, script: string, columns = 40): LineEditor {
  for (const [, name, text] of script.matchAll(/\[([\w-]+)\]|([^[]+)/g))
    if (name !== undefined) editor.press(key(name), columns)
    else editor.insert(text ?? '')
  return editor
}

describe('the editor', () => {
  it.each([
    ['hello world[ctrl-w]', 'hello |'],
    ['hello world[alt-left]X', 'hello X|world'],
    ['hello[home]>[end]<', '>hello<|'],
    ['one[ctrl-j]two[ctrl-a]X', 'one\nX|two'],
    ['one[shift-enter]two[up]X', 'oneX|\ntwo'],
    ['a[ctrl-j]long line[up][down]X', 'a\nlong lineX|'],
    ['one two[ctrl-u][ctrl-y][ctrl-y]', 'one twoone two|'],
    ['one two[alt-b][ctrl-k]', 'one |'],
    ['👩‍👩‍👧é[left][backspace]', '|é'],
    ['ab[ctrl-_]', '|'],
    ['abc[left][left][delete]', 'a|c'],
  ])('%s', (script, expected) => {
    const editor = typed(new LineEditor(), script)
    expect(`${editor.text.slice(0, editor.cursor)}|${editor.text.slice(editor.cursor)}`).toBe(expected)
  })

  it('goes through the history and back to the draft', () => {
    const editor = new LineEditor(['newest\nof two lines', 'older'])
    expect(typed(editor, 'draft[up]').text).toBe('newest\nof two lines')
    expect(typed(editor, '[up][up]').text).toBe('older')
    expect(typed(editor, '[up]').text).toBe('older')
    expect(typed(editor, '[down][down][down]').text).toBe('draft')
  })

  it('searches the history and changes nothing when it is left', () => {
    const editor = new LineEditor(['git push', 'npm test', 'git pull'])
    typed(editor, 'draft[ctrl-r]git')
    expect(editor.view(40).rows).toEqual(['git push'])
    typed(editor, '[ctrl-r]')
    expect(editor.view(40).rows).toEqual(['git pull'])
    expect(editor.search).toEqual({ query: 'git', found: true })
    expect(typed(editor, '[escape]').text).toBe('draft')
    expect(typed(editor, '[ctrl-r]test[enter]').text).toBe('npm test')
  })

  it('wraps at words, counts wide characters, and knows where the cursor is', () => {
    const editor = typed(new LineEditor(), 'some words to wrap 日本語')
    const view = editor.view(12)
    expect(view.rows).toEqual(['some words ', 'to wrap ', '日本語'])
    expect(view.cursor).toEqual({ row: 2, column: 6 })
    expect(typed(editor, '[home]', 12).view(12).cursor).toEqual({ row: 0, column: 0 })
  })

  it('shows what would act on the terminal as escapes, and counts them so', () => {
    const editor = typed(new LineEditor(), 'a\u202eb\tc')
    expect(editor.view(40)).toEqual({ rows: ['a\\u202eb    c'], cursor: { row: 0, column: 13 } })
    expect(editor.text).toBe('a\u202eb\tc')
  })
})
