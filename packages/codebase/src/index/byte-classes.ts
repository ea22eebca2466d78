// index/byte-classes.ts: 64 classes of bytes. Letters of both cases are one class, rare signs share one, and so do all bytes
// past ASCII: a trigram of classes fits into 18 bits, and its tables into the processor's cache. False matches of the classes
// are removed when the files are checked.

export const CLASS_BITS = 6
export const TRIGRAM_COUNT = 1 << (3 * CLASS_BITS)

/** Line ends. No query spans lines, so a trigram with one in it is never looked up. */
export const LINE_END = 0

export const CLASSES: Uint8Array = buildClasses()

function buildClasses(): Uint8Array {
  const own = [
    '\n\r',
    ...[...'abcdefghijklmnopqrstuvwxyz'].map((letter) => letter + letter.toUpperCase()),
    ...'0123456789_',
    ' \t',
    ...'!"#&\'()*+,-./:;<=>[]{}|',
  ]
  const classes = new Uint8Array(256).fill(own.length)
  own.forEach((chars, id) => {
    for (const char of chars) classes[char.charCodeAt(0)] = id
  })
  return classes.fill(own.length + 1, 128)
}

/** Every trigram with a line end in it. */
export function* neverCollected(): Generator<number> {
  const classes = 1 << CLASS_BITS
  for (let a = 0; a < classes; a++)
    for (let b = 0; b < classes; b++) {
      yield (((LINE_END << CLASS_BITS) | a) << CLASS_BITS) | b
      yield (((a << CLASS_BITS) | LINE_END) << CLASS_BITS) | b
      yield (((a << CLASS_BITS) | b) << CLASS_BITS) | LINE_END
    }
}
