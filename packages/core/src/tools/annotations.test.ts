import { describe, expect, it } from 'vitest'
import { isConcurrencySafe, readAnnotations } from '../connection/lists.ts'
import { toolTraits } from './annotations.ts'
import { readToolList } from './definition.ts'

const traits = (annotations: unknown) => {
  const [tool] = readToolList([{ name: 't', inputSchema: { type: 'object' }, annotations }]).tools
  if (!tool) throw new Error('no tool')
  return toolTraits(tool)
}
const WORST = {
  readOnly: false,
  destructive: true,
  idempotent: false,
  openWorld: true,
  concurrencySafe: false,
}

describe('what a tool says about itself', () => {
  it.each<[unknown, object]>([
    [undefined, {}],
    ['readOnly', {}],
    [{}, {}],
    [{ readOnlyHint: true }, { readOnly: true, destructive: false, idempotent: true, concurrencySafe: true }],
    [{ readOnly: true }, { readOnly: true, destructive: false, idempotent: true, concurrencySafe: true }],
    [{ destructive: false }, { destructive: false }],
    [{ idempotent: true }, { idempotent: true }],
    [{ openWorld: false }, { openWorld: false }],
    [{ safeToRunConcurrently: true }, { concurrencySafe: true }],
    // A current name wins, and only a boolean counts.
    [{ readOnly: true, readOnlyHint: false }, {}],
    [{ destructive: false, destructiveHint: true }, {}],
    [{ idempotent: true, idempotentHint: false }, {}],
    [{ openWorld: false, openWorldHint: true }, {}],
    [{ readOnly: 'true', destructive: 0, safeToRunConcurrently: 1 }, {}],
    [
      { readOnlyHint: 'false', readOnly: true },
      { readOnly: true, destructive: false, idempotent: true, concurrencySafe: true },
    ],
    [
      { readOnlyHint: true, safeToRunConcurrently: false },
      { readOnly: true, destructive: false, idempotent: true },
    ],
  ])('%j', (annotations, expected) => {
    expect(traits(annotations)).toEqual({ ...WORST, ...expected })
  })

  it('keeps a title, and nothing that is no hint', () => {
    expect(readAnnotations({ title: 'T', readOnly: true, other: 1 })).toEqual({
      title: 'T',
      readOnlyHint: true,
    })
    expect(readAnnotations({ title: 5 })).toEqual({})
    expect(readAnnotations(null)).toBeUndefined()
    expect(isConcurrencySafe()).toBe(false)
  })
})
