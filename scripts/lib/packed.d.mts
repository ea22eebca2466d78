export interface Packed {
  readonly name: string
  // biome-ignore lint/suspicious/noExplicitAny: a manifest is looked into field by field
  readonly manifest: any
  readonly tarball: string
  readonly files: readonly { readonly path: string; readonly size: number; readonly mode: number }[]
  readonly size: number
  readonly unpackedSize: number
}

export interface Place {
  readonly project: string
  readonly home: string
  readonly tarballs: string
  remove(): void
}

export function packAll(into: string): Packed[]
export function emptyProject(): Place
export function installByNpm(project: string, packages: readonly Packed[], more?: readonly string[]): void
export function installStrictly(
  project: string,
  packages: readonly Packed[],
  options?: { readonly without?: boolean },
): void
