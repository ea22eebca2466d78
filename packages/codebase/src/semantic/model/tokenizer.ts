// semantic/model/tokenizer.ts: text to WordPiece numbers, as BERT's family of models was trained. The vocabulary and the rules come
// with the weights.

export interface WordPieceRules {
  readonly vocabulary: ReadonlyMap<string, number>
  readonly lowercase: boolean
  readonly stripAccents: boolean
  /** Every Chinese character is a word of its own. */
  readonly splitChinese: boolean
  /** What a piece inside a word begins with. */
  readonly prefix: string
  readonly unknown: number
  readonly maxWord: number
  /** What is put before and after every text. */
  readonly begin: readonly number[]
  readonly end: readonly number[]
}

export function bertUncased(vocabulary: ReadonlyMap<string, number>): WordPieceRules {
  return {
    vocabulary,
    lowercase: true,
    stripAccents: true,
    splitChinese: true,
    prefix: '##',
    unknown: vocabulary.get('[UNK]') ?? 100,
    maxWord: 100,
    begin: [vocabulary.get('[CLS]') ?? 101],
    end: [vocabulary.get('[SEP]') ?? 102],
  }
}

const CHINESE = /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu
/** Punctuation is a token of its own; for ASCII that includes what Unicode calls symbols. */
const WORD = /[!-/:-@[-`{-~\p{P}]|[^\s!-/:-@[-`{-~\p{P}]+/gu

export class Tokenizer {
  readonly #rules: WordPieceRules
  /** Code repeats its words; most are cut only once. */
  readonly #known = new Map<string, readonly number[]>()

  constructor(rules: WordPieceRules) {
    this.#rules = rules
  }

  /** At most `limit` numbers, the marks at both ends included. */
  encode(text: string, limit: number): number[] {
    const { begin, end } = this.#rules
    const ids = [...begin]
    const room = limit - end.length
    for (const [word] of this.#plain(text).matchAll(WORD)) {
      for (const id of this.#pieces(word)) ids.push(id)
      if (ids.length >= room) break
    }
    ids.length = Math.min(ids.length, Math.max(begin.length, room))
    ids.push(...end)
    return ids
  }

  /** How many numbers the text alone takes. */
  count(text: string): number {
    let count = 0
    for (const [word] of this.#plain(text).matchAll(WORD)) count += this.#pieces(word).length
    return count
  }

  #plain(text: string): string {
    const { lowercase, stripAccents, splitChinese } = this.#rules
    let plain = text.replace(/[\t\n\r]/g, ' ').replace(/\p{C}|\ufffd/gu, '')
    if (splitChinese) plain = plain.replace(CHINESE, ' $& ')
    if (stripAccents) plain = plain.normalize('NFD').replace(/\p{Mn}/gu, '')
    return lowercase ? plain.toLowerCase() : plain
  }

  #pieces(word: string): readonly number[] {
    const known = this.#known.get(word)
    if (known) return known
    const cut = this.#cut(word)
    if (this.#known.size > 50_000) this.#known.clear()
    this.#known.set(word, cut)
    return cut
  }

  /** The longest piece that fits, again and again; a word that cannot be cut whole is unknown. */
  #cut(word: string): readonly number[] {
    const { vocabulary, prefix, unknown, maxWord } = this.#rules
    if (word.length > maxWord) return [unknown]
    const pieces: number[] = []
    for (let from = 0; from < word.length; ) {
      let to = word.length
      let id: number | undefined
      for (; to > from; to--) {
        id = vocabulary.get((from > 0 ? prefix : '') + word.slice(from, to))
        if (id !== undefined) break
      }
      if (id === undefined) return [unknown]
      pieces.push(id)
      from = to
    }
    return pieces
  }
}
