// jmespath-nodes.ts: what the evaluator of JMESPath and its functions share: the nodes of a parsed expression, the types of
// values, and the error for an expression that does not work.

/** As the `jmespath` package parses an expression. */
export interface Node {
  readonly type: string
  readonly name?: string
  readonly value?: unknown
  readonly children?: readonly Node[]
}

export class JmesPathError extends Error {}

/** Evaluates expressions that a function was given, and counts what it does. */
export interface Machine {
  visit(node: Node, value: unknown): unknown
  /** Throws when too much was done. */
  charge(work: number): void
}

/** An argument of a function that is an expression: `&name`. */
export class ExpressionReference {
  readonly expression: Node

  constructor(expression: Node) {
    this.expression = expression
  }
}

export type TypeName = 'null' | 'string' | 'number' | 'boolean' | 'array' | 'object' | 'expression'

export function typeName(value: unknown): TypeName {
  if (value === null || value === undefined) return 'null'
  if (Array.isArray(value)) return 'array'
  if (value instanceof ExpressionReference) return 'expression'
  const kind = typeof value
  return kind === 'string' || kind === 'number' || kind === 'boolean' ? kind : 'object'
}
