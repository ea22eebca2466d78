// chunks/definitions.ts: what a node of a syntax tree is to a reader: a function, a class, a comment above one.
// One table serves every grammar, because their node types rarely clash.
import type { Node } from 'web-tree-sitter'
import type { ChunkKind } from './chunk-types.ts'

const KINDS: Readonly<Record<string, ChunkKind>> = {
  function_declaration: 'function',
  function_definition: 'function',
  function_item: 'function',
  function_signature_item: 'function',
  function_statement: 'function',
  generator_function_declaration: 'function',
  function_signature: 'function',
  subroutine_declaration_statement: 'function',
  function: 'function',
  local_function: 'function',
  top_level_definition: 'function',
  value_declaration: 'function',
  FnProto: 'function',
  method_declaration: 'method',
  method_definition: 'method',
  method_signature: 'method',
  abstract_method_signature: 'method',
  constructor_declaration: 'method',
  constructor_definition: 'method',
  destructor_declaration: 'method',
  property_declaration: 'method',
  init_declaration: 'method',
  method: 'method',
  singleton_method: 'method',
  class_declaration: 'class',
  class_definition: 'class',
  abstract_class_declaration: 'class',
  class_specifier: 'class',
  class: 'class',
  object_declaration: 'class',
  object_definition: 'class',
  companion_object: 'class',
  mixin_declaration: 'class',
  extension_declaration: 'class',
  impl_item: 'class',
  record_declaration: 'class',
  interface_declaration: 'interface',
  protocol_declaration: 'interface',
  trait_item: 'interface',
  trait_definition: 'interface',
  trait_declaration: 'interface',
  struct_item: 'struct',
  struct_specifier: 'struct',
  struct_declaration: 'struct',
  union_specifier: 'struct',
  union_item: 'struct',
  enum_item: 'enum',
  enum_specifier: 'enum',
  enum_declaration: 'enum',
  enum_definition: 'enum',
  type_alias_declaration: 'type',
  type_declaration: 'type',
  type_definition: 'type',
  type_item: 'type',
  mod_item: 'module',
  module: 'module',
  namespace_definition: 'module',
  namespace_declaration: 'module',
  internal_module: 'module',
  macro_definition: 'function',
  preproc_function_def: 'function',
}

/** Nodes that wrap a definition and belong to it. */
const WRAPPERS = new Set([
  'export_statement',
  'decorated_definition',
  'template_declaration',
  'lexical_declaration',
  'variable_declaration',
  'expression_statement',
  'ambient_declaration',
  'declaration',
  'linkage_specification',
])

const LEADING = new Set([
  'comment',
  'line_comment',
  'block_comment',
  'multiline_comment',
  'documentation_comment',
  'doc_comment',
  'attribute_item',
  'attribute',
  'attribute_list',
  'annotation',
  'decorator',
  'haddock',
  'pod',
])

const FUNCTION_VALUES = new Set([
  'arrow_function',
  'function_expression',
  'generator_function',
  'function_definition',
])

const CONTAINERS = new Set<ChunkKind>(['class', 'interface', 'module', 'struct', 'enum'])

export interface Definition {
  readonly kind: ChunkKind
  readonly name: string | undefined
  /** The node that has the body; inside a wrapper it is the wrapped one. */
  readonly node: Node
}

export const leads = (node: Node) => LEADING.has(node.type)

export const contains = (kind: ChunkKind) => CONTAINERS.has(kind)

/** What the node defines, looking through exports, decorators and the like. */
export function definitionOf(node: Node, depth = 0): Definition | undefined {
  const kind = KINDS[node.type]
  if (kind) return { kind, name: nameOf(node), node }
  if (node.type === 'variable_declarator') {
    const value = node.childForFieldName('value')
    if (!value) return undefined
    if (FUNCTION_VALUES.has(value.type)) return { kind: 'function', name: nameOf(node), node: value }
    return value.type === 'class' ? { kind: 'class', name: nameOf(node), node: value } : undefined
  }
  if (!WRAPPERS.has(node.type) || depth > 3) return undefined
  for (const child of node.namedChildren) {
    const found = child && definitionOf(child, depth + 1)
    if (found) return found
  }
  return undefined
}

const NAME_FIELDS = ['name', 'declarator', 'type'] as const
const IDENTIFIER = /identifier$|^constant$|^name$|^word$|^variable$|^qualified_name$/

function nameOf(node: Node): string | undefined {
  let current: Node | null = node
  for (let hop = 0; current && hop < 8; hop++) {
    let next: Node | null = null
    for (const field of NAME_FIELDS) {
      next = current.childForFieldName(field)
      if (next) break
    }
    next ??=
      current.namedChildren.find(
        (child) => child !== null && (IDENTIFIER.test(child.type) || /_spec$/.test(child.type)),
      ) ?? null
    if (!next) break
    if (IDENTIFIER.test(next.type) || next.namedChildCount === 0) return short(next.text)
    current = next
  }
  return current && current !== node ? short(current.text) : undefined
}

function short(text: string): string {
  const line = text.split('\n', 1)[0] ?? ''
  return line.length > 80 ? `${line.slice(0, 79)}…` : line.trim()
}
