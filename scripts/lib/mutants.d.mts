export interface Mutant {
  readonly kind: string
  /** How the edit can be put behind a switch (switches.mjs). */
  readonly form: string
  /** Where the edited expression or statement begins and ends. */
  readonly node: readonly [number, number]
  /** Where the operator of a dropped default is. */
  readonly operator?: number
  readonly start: number
  readonly end: number
  readonly replacement: string
  readonly line: number
  /** The text that is replaced. */
  readonly before: string
}
export function mutantsOf(text: string): Mutant[]
export function withMutant(text: string, mutant: Mutant): string
