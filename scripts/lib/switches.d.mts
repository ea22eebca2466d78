import type { Mutant } from './mutants.mjs'

export interface SwitchedMutant extends Mutant {
  readonly id: number
  /** Relative to the root of the project. */
  readonly file: string
}
export interface Switches {
  active: number | undefined
  readonly reached: Set<number>
}
export function withSwitches(text: string, mutants: readonly SwitchedMutant[]): string
export function makeSwitches(): Switches
