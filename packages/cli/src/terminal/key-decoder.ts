// key-decoder.ts: what a terminal sends, as keys, typed text and pastes. A paste is one piece however many lines it has.
// Pure: the owner of the keyboard feeds it, and calls `flush` when nothing follows an Escape.

export interface Key {
  readonly kind: 'key'
  readonly name: string
  readonly ctrl: boolean
  readonly alt: boolean
  readonly shift: boolean
}

export type Input =
  | Key
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'paste'; readonly text: string }

const PASTE_START = '\x1b[200~'
const PASTE_END = '\x1b[201~'
/** A sequence that is still not complete at this length is not one. */
const SEQUENCE_CHARS = 64
/** A terminal without paste marks sends a paste as one piece; a user does not type that fast. */
const BURST_CHARS = 160
const BURST_LINES = 6

const FINAL: Readonly<Record<string, string>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
  Z: 'tab',
  M: 'enter',
}
const TILDE: Readonly<Record<string, string>> = {
  1: 'home',
  2: 'insert',
  3: 'delete',
  4: 'end',
  5: 'pageup',
  6: 'pagedown',
  7: 'home',
  8: 'end',
}
const CODES: Readonly<Record<string, string>> = { 9: 'tab', 13: 'enter', 27: 'escape', 127: 'backspace' }
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals send control characters
const CSI = /^\x1b\[([0-9;:<=>?]*)[ -/]*([@-~])/
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals send control characters
const TYPED = /^[^\x00-\x1f\x7f\x80-\x9f]+/

export class KeyDecoder {
  #rest = ''
  #pasted: string | undefined

  /** True while an Escape waits for what may follow it. */
  get isWaiting(): boolean {
    return this.#pasted === undefined && this.#rest !== ''
  }

  push(text: string): readonly Input[] {
    if (this.#pasted === undefined && this.#rest === '' && isBurst(text))
      return [{ kind: 'paste', text: pastedText(text) }]
    this.#rest += text
    return this.#read(false)
  }

  /** Nothing follows: an Escape is a key of its own. */
  flush(): readonly Input[] {
    return this.#pasted === undefined ? this.#read(true) : []
  }

  #read(isLast: boolean): readonly Input[] {
    const found: Input[] = []
    while (this.#rest !== '') {
      if (this.#pasted !== undefined) {
        if (!this.#readPaste(found)) break
        continue
      }
      const [input, length] = nextInput(this.#rest, isLast)
      if (length === 0) break
      this.#rest = this.#rest.slice(length)
      if (input === 'paste') this.#pasted = ''
      else if (input) found.push(input)
    }
    return found
  }

  #readPaste(found: Input[]): boolean {
    const at = this.#rest.indexOf(PASTE_END)
    const cut = at < 0 ? this.#rest.length - partOf(PASTE_END, this.#rest) : at
    this.#pasted += this.#rest.slice(0, cut)
    this.#rest = this.#rest.slice(cut)
    if (at < 0) return false
    this.#rest = this.#rest.slice(PASTE_END.length)
    found.push({ kind: 'paste', text: pastedText(this.#pasted ?? '') })
    this.#pasted = undefined
    return true
  }
}

/** The next key and how much of the text it is; a length of 0 means that the rest of it has not arrived. */
function nextInput(text: string, isLast: boolean): readonly [Input | 'paste' | undefined, number] {
  const typed = TYPED.exec(text)
  if (typed) return [{ kind: 'text', text: typed[0] }, typed[0].length]
  if (text[0] !== '\x1b') return [controlKey(text[0] ?? ''), 1]
  if (text.startsWith(PASTE_START)) return ['paste', PASTE_START.length]
  if (text.length === 1) return isLast ? [key('escape'), 1] : [undefined, 0]
  if (text[1] === '[') {
    const sequence = CSI.exec(text)
    if (sequence) return [csiKey(sequence[1] ?? '', sequence[2] ?? ''), sequence[0].length]
    if (!isLast && text.length < SEQUENCE_CHARS) return [undefined, 0]
    return [key('escape'), 1]
  }
  if (text[1] === 'O') {
    if (text.length === 2) return isLast ? [key('o', { alt: true, shift: true }), 2] : [undefined, 0]
    return [FINAL[text[2] ?? ''] ? key(FINAL[text[2] ?? ''] ?? '') : undefined, 3]
  }
  if (text[1] === '\x1b') return [key('escape'), 1]
  const char = String.fromCodePoint(text.codePointAt(1) ?? 0)
  const plain = controlKey(char)
  return [plain ? { ...plain, alt: true } : key(char, { alt: true }), 1 + char.length]
}

function csiKey(parameters: string, final: string): Key | undefined {
  const [code = '', modifiers = '', other = ''] = parameters.split(';')
  // modifyOtherKeys: CSI 27 ; modifiers ; code ~
  if (final === '~' && code === '27') return codeKey(other, modifiers)
  if (final === 'u') return codeKey(code.split(':')[0] ?? '', modifiers)
  const name = final === '~' ? TILDE[code] : FINAL[final]
  if (name === undefined) return undefined
  return key(name, { ...modifiersOf(modifiers), ...(final === 'Z' && { shift: true }) })
}

function codeKey(code: string, modifiers: string): Key | undefined {
  const number = Number(code)
  if (!Number.isInteger(number) || number <= 0 || number > 0x10ffff) return undefined
  return key(CODES[code] ?? String.fromCodePoint(number).toLowerCase(), modifiersOf(modifiers))
}

function modifiersOf(text: string): { shift: boolean; alt: boolean; ctrl: boolean } {
  const bits = Math.max(0, (Number.parseInt(text, 10) || 1) - 1)
  return { shift: (bits & 1) !== 0, alt: (bits & 2) !== 0, ctrl: (bits & 4) !== 0 }
}

function controlKey(char: string): Key | undefined {
  switch (char) {
    case '\r':
      return key('enter')
    case '\n':
      return key('j', { ctrl: true })
    case '\t':
      return key('tab')
    case '\x7f':
    case '\b':
      return key('backspace')
    case '\x1b':
      return key('escape')
  }
  const code = char.charCodeAt(0)
  if (code === 0) return key('space', { ctrl: true })
  if (code === 0x1f) return key('_', { ctrl: true })
  return code < 0x1b ? key(String.fromCharCode(code + 96), { ctrl: true }) : undefined
}

function key(name: string, modifiers: Partial<Omit<Key, 'kind' | 'name'>> = {}): Key {
  return { kind: 'key', name, ctrl: false, alt: false, shift: false, ...modifiers }
}

function isBurst(text: string): boolean {
  if (text.includes('\x1b')) return false
  const lines = text.replace(/[\r\n]+$/, '').split(/\r\n?|\n/)
  return lines.length > 1 && (lines.length >= BURST_LINES || text.length >= BURST_CHARS)
}

/** Keys in a paste are text, and text has no control characters but line ends and tabs. */
function pastedText(pasted: string): string {
  return pasted
    .replace(/\r\n?/g, '\n')
    .replace(/[\p{Cc}]/gu, (char) => (char === '\n' || char === '\t' ? char : ''))
}

/** How much of the end of the text is the beginning of the mark. */
function partOf(mark: string, text: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 0; length--)
    if (text.endsWith(mark.slice(0, length))) return length
  return 0
}
