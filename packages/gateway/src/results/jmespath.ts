// jmespath.ts: evaluates JMESPath expressions (jmespath.org) with a bound on work and memory. The parser is the `jmespath`
// package; its own evaluator has no bound, and a short expression can double a value at every step.
import { isDeepStrictEqual } from 'node:util'
import { compile } from 'jmespath'
import { isObject } from '../json-rpc.ts'
import { callFunction } from './jmespath-functions.ts'
import { ExpressionReference, JmesPathError, type Machine, type Node, typeName } from './jmespath-nodes.ts'

const EXPRESSION_CHARS = 4000
/** Visited nodes, made items, and characters by the dozen: a few hundred milliseconds at most. */
const WORK = 5_000_000

export interface JmesPath {
  readonly text: string
  readonly root: Node
}

/** Throws a `JmesPathError` that says what is wrong with the expression. */
export function parseJmesPath(text: string): JmesPath {
  if (text.trim() === '') throw new JmesPathError('the expression is empty')
  if (text.length > EXPRESSION_CHARS)
    throw new JmesPathError(`the expression is longer than ${EXPRESSION_CHARS} characters`)
  try {
    return { text, root: compile(text) as Node }
  } catch (error) {
    const isDeep = error instanceof RangeError
    throw new JmesPathError(isDeep ? 'the expression is nested too deeply' : messageOf(error))
  }
}

/** Throws a `JmesPathError` when a function gets the wrong type, or there is too much to do. */
export function evaluateJmesPath({ root }: JmesPath, value: unknown, work: number = WORK): unknown {
  const evaluator = new Evaluator(work)
  try {
    return evaluator.visit(root, value)
  } catch (error) {
    if (error instanceof RangeError) throw new JmesPathError('the value is nested too deeply')
    throw error
  }
}

class Evaluator implements Machine {
  #left: number

  constructor(work: number) {
    this.#left = work
  }

  charge(work: number): void {
    this.#left -= work
    if (this.#left < 0) throw new JmesPathError('the expression takes too much work')
  }

  visit(node: Node, value: unknown): unknown {
    this.charge(1)
    const [left, right] = node.children ?? []
    switch (node.type) {
      case 'Identity':
      case 'Current':
        return value
      case 'Literal':
        return node.value
      case 'Field':
        return isObject(value) && Object.hasOwn(value, node.name ?? '') ? value[node.name ?? ''] : null
      case 'Subexpression':
      case 'IndexExpression':
      case 'Pipe':
        return this.visit(required(right), this.visit(required(left), value))
      case 'Index':
        return Array.isArray(value) ? (value.at(Number(node.value)) ?? null) : null
      case 'Slice':
        return Array.isArray(value) ? this.#slice(value, node.children as readonly unknown[]) : null
      case 'Flatten':
        return this.#flatten(this.visit(required(left), value))
      case 'Projection':
      case 'ValueProjection':
      case 'FilterProjection':
        return this.#project(node, value)
      case 'Comparator':
        return this.#compare(node, value)
      case 'OrExpression':
      case 'AndExpression': {
        const first = this.visit(required(left), value)
        return isFalse(first) === (node.type === 'OrExpression') ? this.visit(required(right), value) : first
      }
      case 'NotExpression':
        return isFalse(this.visit(required(left), value))
      default:
        return this.#make(node, value)
    }
  }

  /** Nodes that build something new. */
  #make(node: Node, value: unknown): unknown {
    const children = node.children ?? []
    switch (node.type) {
      case 'MultiSelectList':
        return value === null ? null : children.map((child) => this.visit(child, value))
      case 'MultiSelectHash':
        if (value === null) return null
        return Object.fromEntries(
          children.map((child) => [child.name ?? '', this.visit(child.value as Node, value)]),
        )
      case 'Function':
        return callFunction(
          this,
          node.name ?? '',
          children.map((child) => this.visit(child, value)),
        )
      case 'ExpressionReference':
        return new ExpressionReference(required(children[0]))
      default:
        throw new JmesPathError(`"${node.type}" is not supported`)
    }
  }

  #slice(value: readonly unknown[], parts: readonly unknown[]): unknown[] {
    const [from, to, by] = parts.map((part) => (typeof part === 'number' ? part : undefined))
    const step = by ?? 1
    if (step === 0) throw new JmesPathError('the step of a slice cannot be 0')
    const { length } = value
    const isForward = step > 0
    const bound = (given: number | undefined, open: number) => {
      if (given === undefined) return open
      const at = given < 0 ? given + length : given
      return isForward ? Math.min(Math.max(at, 0), length) : Math.min(Math.max(at, -1), length - 1)
    }
    const start = bound(from, isForward ? 0 : length - 1)
    const stop = bound(to, isForward ? length : -1)
    const made: unknown[] = []
    for (let at = start; isForward ? at < stop : at > stop; at += step) {
      this.charge(1)
      made.push(value[at])
    }
    return made
  }

  #flatten(value: unknown): unknown {
    if (!Array.isArray(value)) return null
    const merged: unknown[] = []
    for (const item of value) {
      this.charge(Array.isArray(item) ? item.length + 1 : 1)
      if (Array.isArray(item)) for (const one of item) merged.push(one)
      else merged.push(item)
    }
    return merged
  }

  #project(node: Node, value: unknown): unknown {
    const [left, right, filter] = node.children ?? []
    const base = this.visit(required(left), value)
    let items: readonly unknown[]
    if (node.type === 'ValueProjection') {
      if (!isObject(base)) return null
      items = Object.values(base)
    } else {
      if (!Array.isArray(base)) return null
      items = base
    }
    this.charge(items.length)
    const made: unknown[] = []
    for (const item of items) {
      if (filter && isFalse(this.visit(filter, item))) continue
      const one = this.visit(required(right), item)
      if (one !== null) made.push(one)
    }
    return made
  }

  #compare(node: Node, value: unknown): unknown {
    const [first, second] = (node.children ?? []).map((child) => this.visit(child, value))
    if (node.name === 'EQ' || node.name === 'NE') {
      this.charge(typeof first === 'object' ? 20 : 1)
      return isDeepStrictEqual(first, second) === (node.name === 'EQ')
    }
    // Texts are compared too, as dates in results are texts; the specification only orders numbers.
    const kind = typeof first
    if (kind !== typeof second || (kind !== 'number' && kind !== 'string')) return null
    const [a, b] = [first as number, second as number]
    if (node.name === 'GT') return a > b
    if (node.name === 'GTE') return a >= b
    return node.name === 'LT' ? a < b : a <= b
  }
}

function required(node: Node | undefined): Node {
  if (!node) throw new JmesPathError('the expression is incomplete')
  return node
}

/** As JMESPath has it: also an empty text, list or object. */
function isFalse(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === '') return true
  if (Array.isArray(value)) return value.length === 0
  return typeName(value) === 'object' && Object.keys(value as object).length === 0
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
