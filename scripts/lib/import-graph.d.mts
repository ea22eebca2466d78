export function typescriptIn(path: string): Generator<string>
export function importGraph(root: string): {
  weight(file: string): number
  testsFor(source: string, tests: readonly string[]): string[]
}
