// output-schema.ts: checks an expression against the schema of a tool's result before the call is made. Only what is certainly
// wrong is an error: a name that the schema does not have and does not leave open.
import { isObject } from '../json-rpc.ts'
import { resolved } from './describe-shape.ts'
import type { JmesPath } from './jmespath.ts'
import type { Node } from './jmespath-nodes.ts'

/** The name that the schema does not have; undefined when none is certain. */
export function unknownName({ root }: JmesPath, schema: unknown): string | undefined {
  const check = new SchemaCheck(schema)
  check.visit(root, schema)
  return check.missing
}

/** Keywords that may bring names of their own. */
const OPEN_KEYWORDS = ['anyOf', 'oneOf', 'allOf', 'if', 'patternProperties', '$dynamicRef']

class SchemaCheck {
  missing: string | undefined
  readonly #root: unknown

  constructor(root: unknown) {
    this.#root = root
  }

  /** The schema of what a node returns; undefined where it is not known. */
  visit(node: Node, of: unknown): unknown {
    const [left, right] = node.children ?? []
    switch (node.type) {
      case 'Identity':
      case 'Current':
      case 'Slice':
        return of
      case 'Field':
        return this.#member(of, node.name ?? '')
      case 'Subexpression':
      case 'IndexExpression':
      case 'Pipe':
        return left && right ? this.visit(right, this.visit(left, of)) : undefined
      case 'Index':
        return this.#items(of)
      case 'Projection':
      case 'FilterProjection':
        return this.#project(node, of)
      case 'MultiSelectHash':
        return this.#hash(node, of)
      case 'Literal':
      case 'ExpressionReference':
        // What an expression is applied to depends on the function.
        return undefined
      default:
        for (const child of node.children ?? []) if (isObject(child)) this.visit(child as unknown as Node, of)
        return undefined
    }
  }

  #project({ children }: Node, of: unknown): unknown {
    const [left, right, filter] = children ?? []
    if (!left || !right) return undefined
    const item = this.#items(this.visit(left, of))
    if (filter) this.visit(filter, item)
    const made = this.visit(right, item)
    return made === undefined ? undefined : { type: 'array', items: made }
  }

  #hash({ children }: Node, of: unknown): unknown {
    const properties = (children ?? []).map((child): [string, unknown] => [
      child.name ?? '',
      this.visit(child.value as Node, of) ?? {},
    ])
    return { type: 'object', properties: Object.fromEntries(properties) }
  }

  #member(of: unknown, name: string): unknown {
    const found = this.#target(of)
    if (!found || !isObject(found.properties)) return undefined
    if (Object.hasOwn(found.properties, name)) return found.properties[name]
    const { additionalProperties } = found
    if (additionalProperties === true || isObject(additionalProperties)) return undefined
    this.missing ??= name
    return undefined
  }

  #items(of: unknown): unknown {
    const found = this.#target(of)
    return found && isObject(found.items) ? found.items : undefined
  }

  #target(of: unknown): Record<string, unknown> | undefined {
    const found = resolved(of, this.#root)
    return isObject(found) && !OPEN_KEYWORDS.some((key) => key in found) ? found : undefined
  }
}
