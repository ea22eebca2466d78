// Which names are suggested for one that no server has.
import { describe, expect, it } from 'vitest'
import { noSuchServer } from './no-such-server.ts'

describe('a name that no server has', () => {
  it.each<[string, readonly string[], string | undefined]>([
    ['git', ['GitHub', 'memory'], 'Did you mean GitHub?'],
    ['my-github', ['GitHub', 'memory'], 'Did you mean GitHub?'],
    ['memroy', ['github', 'memory'], 'Did you mean memory?'],
    ['a', ['a1', 'a2', 'a3', 'a4'], 'Did you mean a1, a2, a3?'],
    ['zzzzzz', ['github', 'memory'], undefined],
    ['x', [], undefined],
  ])('%s among %j', (name, known, hint) => {
    const error = noSuchServer(name, known)
    expect(error.message).toBe(`There is no server named "${name}".`)
    if (hint === undefined) expect(error.shellHint).not.toMatch(/Did you mean/)
    else expect(error.shellHint).toBe(hint)
  })
})
