// What the `jmespath` package exports, as far as it is used; it has no declarations of its own.
declare module 'jmespath' {
  /** The parsed expression. */
  export function compile(expression: string): unknown
  export function search(value: unknown, expression: string): unknown
}
