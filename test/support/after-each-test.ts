// after-each-test.ts: what fixtures end after every test. A hook that a fixture registers when it is loaded belongs to the file that
// loaded it first: of test files that share a process, the others would leave everything behind.
const works: (() => Promise<unknown>)[] = []

export function afterEachTest(work: () => Promise<unknown>): void {
  works.push(work)
}

export async function endTest(): Promise<void> {
  for (const work of works) await work()
}
