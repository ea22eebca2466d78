// tree.ts: text of a client's file → plain values that are safe to walk. Comments, trailing commas and a byte order
// mark are accepted; an error names its line. It knows nothing about servers.
import {
  createScanner,
  type ParseError as JsonFault,
  type Node,
  parseTree,
  printParseErrorCode,
} from 'jsonc-parser'
import { parse as parseTomlText, TomlError } from 'smol-toml'
import { ParseError } from '../../errors.ts'
import { isObject as isJsonObject } from '../../json.ts'
import { CONFIG_LIMITS } from '../../limits.ts'

/** No prototype, so that a key such as `__proto__` is an ordinary key. */
export type JsonObject = Readonly<Record<string, unknown>>

/** TOML has dates, which are objects of JavaScript but none of the file. */
export function isObject(value: unknown): value is JsonObject {
  return isJsonObject(value) && !(value instanceof Date)
}

export interface Position {
  readonly line: number
  readonly column: number
}

export type Tree =
  | { readonly kind: 'tree'; readonly root: Node; position(node: Node): Position }
  | { readonly kind: 'empty' }
  | ({ readonly kind: 'fault'; readonly reason: string } & Position)

/** JSON with comments, as a tree whose nodes know their position. */
export function parseJsonTree(text: string): Tree {
  const clean = text.replace(/^\uFEFF/, '')
  const deep = tooDeep(clean)
  if (deep) return deep
  const faults: JsonFault[] = []
  const root = parseTree(clean, faults, { allowTrailingComma: true, allowEmptyContent: true })
  const fault = faults[0]
  if (fault)
    return { kind: 'fault', reason: words(printParseErrorCode(fault.error)), ...place(clean, fault.offset) }
  if (!root) return { kind: 'empty' }
  return { kind: 'tree', root, position: placesOf(clean) }
}

/** JSON with comments. An empty file is an empty object, as every client reads it. */
export function parseJson(text: string): JsonObject {
  const tree = parseJsonTree(text)
  if (tree.kind === 'empty') return Object.create(null)
  if (tree.kind === 'fault') throw broken('JSON', tree.reason, tree)
  const value = plain(tree.root)
  if (!isObject(value)) throw broken('JSON', 'an object is expected', { line: 1, column: 1 })
  return value
}

export function parseToml(text: string): JsonObject {
  try {
    return parseTomlText(text.replace(/^\uFEFF/, ''))
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    // The rest of the message repeats lines of the file, which may hold a secret.
    const reason = error.message.split('\n', 1)[0]?.replace(/^Invalid TOML document: /, '') ?? 'not valid'
    throw broken('TOML', reason, { line: error.line, column: error.column })
  }
}

/** The parser recurses for each level; a file of a million brackets would overflow the stack. */
function tooDeep(text: string): Extract<Tree, { kind: 'fault' }> | undefined {
  const scanner = createScanner(text)
  let depth = 0
  // Token kinds of jsonc-parser: 1 `{`, 2 `}`, 3 `[`, 4 `]`, 17 end. Its const enum cannot be imported here.
  for (let token = scanner.scan() as number; token !== 17; token = scanner.scan()) {
    if (token === 1 || token === 3) depth++
    else if (token === 2 || token === 4) depth--
    if (depth > CONFIG_LIMITS.depth) {
      const reason = `nested deeper than ${CONFIG_LIMITS.depth} levels`
      return { kind: 'fault', reason, ...place(text, scanner.getTokenOffset()) }
    }
  }
  return undefined
}

/** The value of a node, in objects without a prototype. */
export function plain(node: Node): unknown {
  if (node.type === 'array') return (node.children ?? []).map(plain)
  if (node.type !== 'object') return node.value
  const object: Record<string, unknown> = Object.create(null)
  for (const { children } of node.children ?? []) {
    const [key, value] = children ?? []
    if (key && value) object[String(key.value)] = plain(value)
  }
  return object
}

function place(text: string, offset: number): Position {
  const before = text.slice(0, offset)
  return { line: before.split('\n').length, column: offset - before.lastIndexOf('\n') }
}

/** For many positions in one text: the lines are counted once. */
function placesOf(text: string): (node: Node) => Position {
  let starts: number[] | undefined
  return ({ offset }) => {
    starts ??= [0, ...Array.from(text.matchAll(/\n/g), (match) => match.index + 1)]
    let low = 0
    let high = starts.length
    while (high - low > 1) {
      const middle = (low + high) >> 1
      if ((starts[middle] ?? 0) <= offset) low = middle
      else high = middle
    }
    return { line: low + 1, column: offset - (starts[low] ?? 0) + 1 }
  }
}

const words = (code: string) => code.replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase()

function broken(kind: string, reason: string, at: Position): ParseError {
  return new ParseError(`This is not valid ${kind}: ${reason} (line ${at.line}, column ${at.column}).`, {
    stage: 'config',
    hint: `Correct line ${at.line} of the file, or give another file.`,
  })
}
