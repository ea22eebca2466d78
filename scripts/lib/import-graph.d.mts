export function typescriptIn(path: string): Generator<string>
export function importGraph(root: string): {
  testsFor(source: string, tests: readonly string[]): string[]
}
