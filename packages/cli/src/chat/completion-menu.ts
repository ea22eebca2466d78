// completion-menu.ts: what could be written here: commands, prompts, files and resources. Tab asks; an answer that arrives after
// the text has changed is dropped, and a choice replaces the word it was made for, so nothing is written twice.
import type { Colors } from '../colors.ts'
import type { Key } from '../terminal/key-decoder.ts'
import { fit } from '../terminal/layout.ts'
import type { LineEditor } from '../terminal/line-editor.ts'

export interface Candidate {
  readonly text: string
  readonly about?: string | undefined
}

/** What fits the text before the cursor, and how much of it is replaced. */
export type Completer = (
  before: string,
) => Promise<{ readonly found: readonly Candidate[]; readonly part: string }>

const SHOWN = 8

export class Completion {
  readonly #editor: LineEditor
  readonly #complete: Completer
  readonly #changed: () => void
  #asked = 0
  #isWaiting = false
  #list: readonly Candidate[] = []
  #part = ''
  #at = -1

  constructor(editor: LineEditor, complete: Completer, changed: () => void) {
    this.#editor = editor
    this.#complete = complete
    this.#changed = changed
  }

  /** True when the key was for the list. */
  press(key: Key): boolean {
    if (key.name === 'tab' && !key.ctrl && !key.alt) {
      this.#tab(key.shift ? -1 : 1)
      return true
    }
    if (this.#list.length === 0) return false
    if (key.name === 'escape') {
      this.close()
      return true
    }
    if (this.#at >= 0 && (key.name === 'up' || key.name === 'down')) {
      this.#choose(key.name === 'up' ? -1 : 1)
      return true
    }
    return false
  }

  /** The text has changed: what was offered for the old one is gone. */
  typed(): void {
    this.close()
  }

  close(): void {
    this.#asked++
    this.#isWaiting = false
    this.#list = []
    this.#at = -1
  }

  rows(columns: number, { dim, cyan }: Colors): readonly string[] {
    if (this.#isWaiting) return [dim('  …')]
    const top = Math.max(0, Math.min(this.#at - SHOWN + 1, this.#list.length - SHOWN))
    const shown = this.#list.slice(top, top + SHOWN)
    const rows = shown.map(({ text, about }, index) => {
      const line = fit(about === undefined ? text : `${text}  ${about}`, columns - 2)
      return index + top === this.#at ? `${cyan('❯')} ${line}` : `  ${dim(line)}`
    })
    const more = this.#list.length - shown.length
    return more > 0 ? [...rows, dim(`  … ${more} more`)] : rows
  }

  #tab(step: 1 | -1): void {
    // A second Tab while the first one is being looked up means the same.
    if (this.#isWaiting) return
    if (this.#list.length > 0) {
      this.#choose(step)
      return
    }
    const mine = ++this.#asked
    const before = this.#editor.text.slice(0, this.#editor.cursor)
    this.#isWaiting = true
    this.#complete(before).then(
      ({ found, part }) => this.#arrived(mine, found, part),
      // A server that cannot be asked offers nothing.
      () => this.#arrived(mine, [], ''),
    )
  }

  #arrived(mine: number, found: readonly Candidate[], part: string): void {
    if (mine !== this.#asked) return
    this.#isWaiting = false
    this.#part = part
    const common = commonStart(found.map(({ text }) => text))
    if (common.length > part.length) this.#write(common)
    if (found.length > 1) this.#list = found
    this.#at = -1
    this.#changed()
  }

  #choose(step: 1 | -1): void {
    const count = this.#list.length
    this.#at = this.#at < 0 ? (step > 0 ? 0 : count - 1) : (this.#at + step + count) % count
    this.#write(this.#list[this.#at]?.text ?? '')
    this.#changed()
  }

  /** In place of the word before the cursor, which is the last thing that was written here. */
  #write(text: string): void {
    const { cursor } = this.#editor
    this.#editor.replace(cursor - this.#part.length, cursor, text)
    this.#part = text
  }
}

function commonStart(texts: readonly string[]): string {
  const [first = '', ...rest] = texts
  let length = first.length
  for (const text of rest) while (!text.startsWith(first.slice(0, length))) length--
  return first.slice(0, length)
}
