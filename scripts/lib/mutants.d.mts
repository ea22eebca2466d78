export interface Mutant {
  readonly kind: string
  readonly start: number
  readonly end: number
  readonly replacement: string
  readonly line: number
  /** The text that is replaced. */
  readonly before: string
}
export function mutantsOf(text: string): Mutant[]
export function withMutant(text: string, mutant: Mutant): string
