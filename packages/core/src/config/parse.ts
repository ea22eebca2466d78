// parse.ts: JSON with comments → a small tree that records positions. It reports syntax faults; other files interpret
// the content.
import { type ParseErrorCode, visit } from 'jsonc-parser'
import { CONFIG_LIMITS } from '../limits.ts'
import { printable } from '../text/strip-controls.ts'
import type { Diagnostic } from './types.ts'

export type JsonNode =
  | { readonly kind: 'object'; readonly offset: number; end: number; readonly members: Member[] }
  | { readonly kind: 'array'; readonly offset: number; end: number; readonly items: JsonNode[] }
  | { readonly kind: 'value'; readonly offset: number; end: number; readonly value: Literal }

export type Literal = string | number | boolean | null

export interface Member {
  readonly key: string
  readonly offset: number
  value: JsonNode | undefined
}

export interface ParsedDocument {
  readonly root: JsonNode | undefined
  /** True when the text has syntax errors; what could be read of it is still in `root`. */
  readonly broken: boolean
  readonly diagnostics: readonly Diagnostic[]
  position(offset: number): { line: number; column: number }
}

/** Keys that would reach into an object's prototype when code assigns them. */
const POISON = new Set(['__proto__'])

const MEANING: Readonly<Record<number, readonly [message: string, hint: string]>> = {
  1: ['this is not a JSON value', 'Expected a string, number, true, false, null, { or [.'],
  2: ['this number is malformed', 'Write it as in 12 or 0.5.'],
  3: ['a property name is missing', 'Property names stand in double quotes.'],
  4: ['a value is missing', 'Write a value after the colon.'],
  5: ['a colon is missing', 'Write `"name": value`.'],
  6: ['a comma is missing', 'Separate entries with a comma.'],
  7: ['a closing } is missing', 'Check the braces before this place.'],
  8: ['a closing ] is missing', 'Check the brackets before this place.'],
  9: ['there is something after the end of the document', 'One JSON document a file.'],
  10: ['a comment is not closed or not allowed here', 'Close it with */.'],
  11: ['a comment is not closed', 'Close it with */.'],
  12: ['a string is not closed', 'Strings end with a double quote on the same line.'],
  13: ['a number is not finished', 'Write it as in 12 or 0.5.'],
  14: ['a \\u escape is wrong', 'Write four hexadecimal digits after \\u.'],
  15: ['an escape is unknown', 'Use \\\\, \\", \\n, \\t, \\/ or \\uXXXX.'],
  16: ['there is a character that JSON does not allow', 'Remove it, or escape it inside a string.'],
}

/** A bracket that is never closed. */
const UNCLOSED = new Set([7, 8])

/** `keep`: only what is at, below or above this path; most of another product's large file is irrelevant. */
export function parseDocument(text: string, file: string, keep: readonly string[] = []): ParsedDocument {
  const mark = text.charCodeAt(0) === 0xfeff ? 1 : 0
  const body = mark ? text.slice(1) : text
  const position = positionsIn(body)
  const builder = new TreeBuilder(file, position, keep)
  if (body.trim() === '') return { root: undefined, broken: false, diagnostics: [], position }
  try {
    visit(body, builder.visitor, {
      allowTrailingComma: true,
      disallowComments: false,
      allowEmptyContent: true,
    })
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    builder.refuseDepth(0)
  }
  return { root: builder.root, broken: builder.broken, diagnostics: builder.diagnostics, position }
}

/** A JSON text as plain data, or its first fault. */
export function parseJson(
  text: string,
  file: string,
): { readonly value?: unknown; readonly fault?: Diagnostic } {
  const { root, diagnostics } = parseDocument(text, file)
  const fault = diagnostics.find(({ severity }) => severity === 'error')
  return fault ? { fault } : { value: toValue(root) }
}

/** The node at a path, as far as it exists. A string names a member, a number an item, and never the other way round. */
export function nodeAt(root: JsonNode | undefined, path: readonly (string | number)[]): JsonNode | undefined {
  let node = root
  for (const step of path) {
    if (node?.kind === 'object') node = member(node, String(step))?.value
    else if (node?.kind === 'array' && typeof step === 'number') node = node.items[step]
    else return undefined
  }
  return node
}

/** The last member of that name wins, as in JSON.parse. */
export function member(node: JsonNode | undefined, key: string): Member | undefined {
  if (node?.kind !== 'object') return undefined
  return node.members.findLast((candidate) => candidate.key === key)
}

/** Plain data, without prototype keys. */
export function toValue(node: JsonNode | undefined): unknown {
  if (!node) return undefined
  if (node.kind === 'value') return node.value
  if (node.kind === 'array') return node.items.map(toValue)
  const object: Record<string, unknown> = {}
  for (const { key, value } of node.members) if (!POISON.has(key)) object[key] = toValue(value)
  return object
}

function positionsIn(text: string): ParsedDocument['position'] {
  let starts: number[] | undefined
  return (offset) => {
    if (!starts) {
      starts = [0]
      for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
    }
    let low = 0
    let high = starts.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle - 1
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 }
  }
}

class TreeBuilder {
  root: JsonNode | undefined
  broken = false
  readonly diagnostics: Diagnostic[] = []
  readonly #file: string
  readonly #position: ParsedDocument['position']
  readonly #keep: readonly string[]
  readonly #open: { node: JsonNode; pending: Member | undefined; seen: Map<string, Member> }[] = []
  readonly #path: string[] = []
  #tooDeep = false
  #errors = 0
  #lastFault = -1
  #lastReported: number | undefined

  constructor(file: string, position: ParsedDocument['position'], keep: readonly string[]) {
    this.#file = file
    this.#position = position
    this.#keep = keep
  }

  readonly visitor = {
    onObjectBegin: (offset: number) => this.#begin({ kind: 'object', offset, end: offset, members: [] }),
    onArrayBegin: (offset: number) => this.#begin({ kind: 'array', offset, end: offset, items: [] }),
    onObjectProperty: (key: string, offset: number) => this.#property(key, offset),
    onObjectEnd: (offset: number) => this.#end(offset),
    onArrayEnd: (offset: number) => this.#end(offset),
    onLiteralValue: (value: Literal, offset: number, length: number) => {
      if (this.#ignoring === 0) this.#place({ kind: 'value', offset, end: offset + length, value })
    },
    onError: (code: ParseErrorCode, offset: number) => this.#fault(code, offset),
  }

  refuseDepth(offset: number): void {
    if (this.#tooDeep) return
    this.#tooDeep = true
    this.broken = true
    this.#report('error', offset, `the document is nested more than ${CONFIG_LIMITS.depth} levels deep`, {
      hint: 'A configuration is flat; check that this is the right file.',
    })
  }

  #begin(node: JsonNode): boolean {
    if (this.#ignoring > 0 || !this.#wanted()) {
      // The visitor could skip these itself, but then it would not report faults inside them, and a fault there can
      // swallow the part we need.
      this.#ignoring++
      return true
    }
    if (this.#open.length >= CONFIG_LIMITS.depth) {
      this.refuseDepth(node.offset)
      this.#skipped++
      return false
    }
    this.#place(node)
    this.#open.push({ node, pending: undefined, seen: new Map() })
    return true
  }

  /** Open containers that `keep` leaves out. */
  #ignoring = 0
  /** Containers whose children the visitor skips still report their end. */
  #skipped = 0

  /** Every container reports its end, in broken text too. */
  #end(offset: number): void {
    if (this.#skipped > 0) this.#skipped--
    else if (this.#ignoring > 0) this.#ignoring--
    else {
      const closed = this.#open.pop()
      if (closed) closed.node.end = offset + 1
      if (closed?.pending) this.#path.pop()
    }
  }

  #property(key: string, offset: number): void {
    const top = this.#open.at(-1)
    if (this.#ignoring > 0 || top?.node.kind !== 'object') return
    if (top.pending) this.#path.pop()
    const repeated = top.seen.get(key)
    if (repeated)
      this.#report('warning', offset, `the key "${key}" stands here twice; the last one counts`, {
        hint: `The first is in line ${this.#position(repeated.offset).line}; remove one of them.`,
        path: [...this.#path, key].join('.'),
      })
    if (POISON.has(key))
      this.#report('warning', offset, `the key "${key}" is not allowed and was ignored`, {
        hint: 'Remove it.',
        path: [...this.#path, key].join('.'),
      })
    top.pending = { key, offset, value: undefined }
    top.node.members.push(top.pending)
    top.seen.set(key, top.pending)
    this.#path.push(key)
  }

  #place(node: JsonNode): void {
    const top = this.#open.at(-1)
    if (!top) this.root ??= node
    else if (top.node.kind === 'array') top.node.items.push(node)
    else if (top.pending && !top.pending.value) top.pending.value = node
  }

  #wanted(): boolean {
    const shared = Math.min(this.#keep.length, this.#path.length)
    return this.#keep.slice(0, shared).every((step, index) => step === this.#path[index])
  }

  /** One fault often breaks several expectations in one place; the first is reported, unless the bracket is missing. */
  #fault(code: ParseErrorCode, offset: number): void {
    this.broken = true
    const [message, hint] = MEANING[code] ?? ['this is not valid JSON', 'Check the syntax around this place.']
    const before = this.#lastFault
    this.#lastFault = offset
    if (before === offset) {
      if (!UNCLOSED.has(code) || this.#lastReported === undefined) return
      this.diagnostics[this.#lastReported] = this.#diagnostic('error', offset, message, { hint })
      return
    }
    this.#lastReported = this.#report('error', offset, message, { hint, path: this.#path.join('.') })
  }

  /** Returns its index in `diagnostics`, if there was space. */
  #report(
    severity: Diagnostic['severity'],
    offset: number,
    message: string,
    more: { hint?: string; path?: string },
  ): number | undefined {
    // Warnings must not use up the space for the error that explains why the file does not count.
    if (severity === 'error') this.#errors++
    const used = severity === 'error' ? this.#errors - 1 : this.diagnostics.length
    if (used >= CONFIG_LIMITS.diagnosticsPerFile) return undefined
    return this.diagnostics.push(this.#diagnostic(severity, offset, message, more)) - 1
  }

  #diagnostic(
    severity: Diagnostic['severity'],
    offset: number,
    message: string,
    { hint, path }: { hint?: string; path?: string },
  ): Diagnostic {
    return {
      severity,
      file: this.#file,
      ...this.#position(offset),
      ...(path && { path: printable(path) }),
      message: printable(message),
      ...(hint && { hint }),
    }
  }
}
