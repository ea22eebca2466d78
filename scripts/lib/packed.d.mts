type Texts = Readonly<Record<string, string>>

/** What is looked at in a package.json; npm has checked the rest when it packed. */
export interface Manifest {
  readonly version: string
  readonly description?: string
  readonly private?: boolean
  readonly sideEffects?: boolean
  readonly scripts?: Texts
  readonly exports?: Readonly<Record<string, Texts>>
  readonly bin?: Texts
  readonly dependencies?: Texts
  readonly optionalDependencies?: Texts
  readonly peerDependencies?: Texts
}

export interface Packed {
  readonly name: string
  readonly manifest: Manifest
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
