// meaning/model/tokenizer.ts: text to WordPiece numbers, as BERT's uncased models were trained. The vocabulary comes with
// the weights.

const CLS = '[CLS]'
const SEP = '[SEP]'
const UNKNOWN = '[UNK]'
const MAX_WORD = 100

export class Tokenizer {
  readonly #vocabulary: ReadonlyMap<string, number>
  readonly #begin: number
  readonly #end: number
  readonly #unknown: number
  /** Code repeats its words; most are cut only once. */
  readonly #known = new Map<string, readonly number[]>()

  constructor(vocabulary: ReadonlyMap<string, number>) {
    this.#vocabulary = vocabulary
    this.#begin = vocabulary.get(CLS) ?? 101
    this.#end = vocabulary.get(SEP) ?? 102
    this.#unknown = vocabulary.get(UNKNOWN) ?? 100
  }

  /** At most `limit` numbers, the marks at both ends included. */
  encode(text: string, limit: number): number[] {
    const ids = [this.#begin]
    const plain = text
      .toLowerCase()
      .normalize('NFD')
      .replace(/\p{Mn}/gu, '')
    for (const [word] of plain.matchAll(/[\p{L}\p{N}]+|[^\s\p{L}\p{N}\p{C}]/gu)) {
      for (const id of this.#pieces(word)) ids.push(id)
      if (ids.length >= limit) break
    }
    ids.length = Math.min(ids.length, limit - 1)
    ids.push(this.#end)
    return ids
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
    if (word.length > MAX_WORD) return [this.#unknown]
    const pieces: number[] = []
    for (let from = 0; from < word.length; ) {
      let to = word.length
      let id: number | undefined
      for (; to > from; to--) {
        id = this.#vocabulary.get((from > 0 ? '##' : '') + word.slice(from, to))
        if (id !== undefined) break
      }
      if (id === undefined) return [this.#unknown]
      pieces.push(id)
      from = to
    }
    return pieces
  }
}
