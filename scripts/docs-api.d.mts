export interface ApiSymbol {
  readonly name: string
  readonly kind: string
  readonly about: string
  readonly examples: readonly string[]
  readonly text: string
}
export const ENTRIES: readonly (readonly [page: string, name: string, file: string])[]
export function symbolsOf(file: string): readonly ApiSymbol[]
export function apiPages(): Readonly<Record<string, string>>
export const CODE_KINDS: ReadonlySet<string>
