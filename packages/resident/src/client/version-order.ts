// version-order.ts: which of two versions of the command came first.

/** Whether version `a` came before `b`: numbers first, then anything before a release of the same numbers. */
export function isOlder(a: string, b: string): boolean {
  const [one, two] = [parts(a), parts(b)]
  for (let at = 0; at < 3; at++) {
    const difference = (one.numbers[at] ?? 0) - (two.numbers[at] ?? 0)
    if (difference !== 0) return difference < 0
  }
  if (one.rest === two.rest) return false
  if (one.rest === '' || two.rest === '') return two.rest === ''
  return one.rest < two.rest
}

function parts(version: string): { readonly numbers: readonly number[]; readonly rest: string } {
  const [main = '', ...rest] = version.split('-')
  return { numbers: main.split('.').map(Number), rest: rest.join('-') }
}
