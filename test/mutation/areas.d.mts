export const EQUIVALENTS: readonly {
  readonly file: string
  readonly kind: string
  readonly before: string
  readonly reason: string
}[]
