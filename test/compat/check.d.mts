import type { CompatServer } from './servers.mjs'

export interface Program {
  readonly command: string
  readonly args: readonly string[]
}
export interface Outcome {
  readonly name: string
  readonly problems: readonly string[]
  readonly tools?: number
  readonly called?: string
  /** How many processes there were before it was closed; only of those that the board itself starts. */
  readonly processes?: number
}
export function checkServer(server: CompatServer, program: Program, mark?: string): Promise<Outcome>
export function checkWithSdk(server: CompatServer, program: Program, mark?: string): Promise<string>
