import type { Packed, Place } from './packed.mjs'

/** Where the packages are installed, and the Node to run. */
export interface Consumer extends Pick<Place, 'project' | 'home'> {
  readonly node: string
  readonly packages: readonly Packed[]
}

export const CHECKS: readonly (readonly [name: string, check: (on: Consumer) => Promise<void>])[]
export const TSC: string
export function publicPaths(of: Packed): string[]
export function compile(
  on: Consumer,
  how: { readonly tsc: string; readonly resolution: 'node16' | 'nodenext' | 'bundler' },
): void
export function run(on: Omit<Consumer, 'packages'>, args: readonly string[]): string
