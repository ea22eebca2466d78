// chunks/chunk.ts: cuts a file into chunks a reader would recognise: functions, methods, classes and the blocks between
// them. Every character is in exactly one chunk, chunks are in order, and the same text always gives the same chunks.
import type { Node } from 'web-tree-sitter'
import { CHUNK_LIMITS } from '../limits.ts'
import type { Chunk, ChunkKind, Piece } from './chunk-types.ts'
import { contains, definitionOf, leads } from './definitions.ts'
import { type Language, languageOf } from './languages.ts'
import { cutByHeadings, cutByLines } from './lines.ts'
import type { Parsers } from './parsers.ts'

export async function chunkText(path: string, text: string, parsers: Parsers): Promise<Chunk[]> {
  if (text === '') return []
  const language = languageOf(path)
  const pieces = joinSmall(await cut(text, language, parsers), text)
  return withLines(pieces, text, language.name)
}

async function cut(text: string, language: Language, parsers: Parsers): Promise<Piece[]> {
  if (language.name === 'markdown') return cutByHeadings(text)
  const tree = language.grammar ? await parsers.parse(language.grammar, text) : undefined
  if (!tree) return cutByLines(text, 0, text.length, { kind: 'block', within: [] })
  try {
    return cutNode(text, tree.rootNode, 0, text.length, { kind: 'block', within: [] }, 0)
  } finally {
    tree.delete()
  }
}

type Label = Pick<Piece, 'kind' | 'name' | 'within'>

interface Part {
  readonly start: number
  readonly node: Node | undefined
  readonly label: Label | undefined
}

const MAX_DEPTH = 12

/** Cuts [start, end), which `node` covers, at the starts of its children; what is still too big is cut inside. */
function cutNode(text: string, node: Node, start: number, end: number, label: Label, depth: number): Piece[] {
  const isRoot = depth === 0
  if (!isRoot && end - start <= CHUNK_LIMITS.maxChars) return [{ start, end, ...label }]
  const parts = depth < MAX_DEPTH ? partsOf(text, node, start, end, label) : []
  if (parts.length === 0) return cutByLines(text, start, end, label)
  const pieces: Piece[] = []
  const first = parts[0]
  if (first && first.start > start) pieces.push(...cutByLines(text, start, first.start, label))
  parts.forEach((part, n) => {
    const stop = parts[n + 1]?.start ?? end
    const own = part.label ?? label
    if (stop - part.start <= CHUNK_LIMITS.maxChars || !part.node)
      pieces.push(...cutByLines(text, part.start, stop, own))
    else pieces.push(...cutNode(text, part.node, part.start, stop, own, depth + 1))
  })
  return packBlocks(pieces)
}

/** The children that begin a line of their own, each with the comments above it. */
function partsOf(text: string, node: Node, start: number, end: number, label: Label): Part[] {
  const children = childrenOf(node)
  const parts: Part[] = []
  let lead: number | undefined
  let leadEnd = -1
  let floor = start
  const lineStart = lineStarts(text, children[0]?.startIndex ?? start)
  for (const child of children) {
    const at = lineStart(child.startIndex)
    if (at < floor || child.startIndex >= end) continue
    if (leads(child)) {
      // A comment followed by an empty line is a block of its own.
      if (lead === undefined || /\n[ \t\r]*\n/.test(text.slice(leadEnd, child.startIndex))) lead = at
      leadEnd = child.endIndex
      continue
    }
    const attached = lead !== undefined && !/\n[ \t\r]*\n/.test(text.slice(leadEnd, child.startIndex))
    const from = attached && lead !== undefined ? Math.max(lead, floor) : at
    lead = undefined
    const last = parts.at(-1)
    if (last && from <= last.start) continue
    const found = definitionOf(child)
    parts.push({
      start: from,
      node: found?.node ?? child,
      label: found
        ? { kind: methodIn(found.kind, label), name: found.name, within: insideOf(label) }
        : label.kind === 'block' || contains(label.kind)
          ? { kind: 'block', within: insideOf(label) }
          : undefined,
    })
    // Code may follow a definition without a child of its own (a closing brace, a stray token): it stays with it.
    floor = Math.max(floor, from + 1)
  }
  return parts
}

function insideOf(label: Label): readonly string[] {
  return contains(label.kind) && label.name ? [...label.within, label.name] : label.within
}

function methodIn(kind: ChunkKind, label: Label): ChunkKind {
  return kind === 'function' && (label.kind === 'class' || label.kind === 'interface') ? 'method' : kind
}

const BODY = /body$|^block$|declaration_list$|^statement_block$/

/** A class has its members in a body node, which a wrapper may hold in turn; a file has them itself. */
function childrenOf(node: Node): Node[] {
  const named = (of: Node) => of.namedChildren.filter((child): child is Node => child !== null)
  if (!node.parent) return named(node)
  let current = node
  for (let hop = 0; hop < 4; hop++) {
    const body = current.childForFieldName('body') ?? named(current).find((child) => BODY.test(child.type))
    if (body) return named(body)
    const only = current.namedChildCount === 1 ? current.namedChild(0) : null
    if (!only) break
    current = only
  }
  return named(current)
}

/**
 * Where the line of an index begins, for indexes that only grow: each newline is searched once. Searching back from every
 * child would take minutes in a file that is one line.
 */
function lineStarts(text: string, from: number): (index: number) => number {
  let begins = from === 0 ? 0 : text.lastIndexOf('\n', from - 1) + 1
  let ends = text.indexOf('\n', begins)
  return (index) => {
    while (ends !== -1 && ends < index) {
      begins = ends + 1
      ends = text.indexOf('\n', begins)
    }
    return begins
  }
}

/** Neighbouring blocks without a name become one, up to the size of a chunk. */
function packBlocks(pieces: readonly Piece[]): Piece[] {
  const packed: Piece[] = []
  for (const piece of pieces) {
    const last = packed.at(-1)
    const alike =
      last &&
      last.kind === piece.kind &&
      last.name === piece.name &&
      last.within.join('.') === piece.within.join('.')
    if (last && alike && piece.end - last.start <= CHUNK_LIMITS.maxChars)
      packed[packed.length - 1] = { ...last, end: piece.end }
    else packed.push(piece)
  }
  return packed
}

/** A piece too small to stand alone joins its neighbour inside the same enclosing name. */
function joinSmall(pieces: readonly Piece[], text: string): Piece[] {
  const joined: Piece[] = []
  for (const piece of pieces) {
    const last = joined.at(-1)
    if (last && joins(last, piece, text)) joined[joined.length - 1] = merge(last, piece)
    else joined.push(piece)
  }
  return joined
}

function joins(a: Piece, b: Piece, text: string): boolean {
  if (b.end - a.start > CHUNK_LIMITS.maxChars) return false
  if (text.slice(b.start, b.end).trim() === '' || text.slice(a.start, a.end).trim() === '') return true
  const small = (piece: Piece) => piece.end - piece.start < CHUNK_LIMITS.minChars
  const related =
    a.within.join('.') === b.within.join('.') || (a.name !== undefined && b.within.at(-1) === a.name)
  return related && (small(a) || small(b)) && b.end - a.start <= CHUNK_LIMITS.maxChars / 2
}

function merge(a: Piece, b: Piece): Piece {
  const names = [a.name, b.name].filter((name) => name !== undefined)
  const main = a.name === undefined && b.name !== undefined ? b : a
  return {
    start: a.start,
    end: b.end,
    kind: main.kind,
    name:
      names.length === 2 && a.name !== b.name
        ? [...new Set(names.join(', ').split(', '))].slice(0, 6).join(', ')
        : main.name,
    within: a.within.length <= b.within.length ? a.within : b.within,
  }
}

function withLines(pieces: readonly Piece[], text: string, language: string): Chunk[] {
  let line = 1
  return pieces.map((piece) => {
    const body = text.slice(piece.start, piece.end)
    const startLine = line
    let newlines = 0
    for (let at = body.indexOf('\n'); at >= 0; at = body.indexOf('\n', at + 1)) newlines++
    line += newlines
    const endLine = body.endsWith('\n') ? Math.max(startLine, line - 1) : line
    return { ...piece, language, startLine, endLine, text: body }
  })
}
