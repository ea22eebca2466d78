import { describe, expect, it } from 'vitest'
import { OpenRequests, type RequestId } from './open-requests.ts'

describe('open requests', () => {
  it('are found by their id, however many come and go while one stays', () => {
    const open = new OpenRequests<{ id: RequestId }>(256)
    const stays = [1, 'listen:1', -5, 1.5].map((id) => ({ id }))
    for (const one of stays) open.add(one)
    for (let id = 2; id < 3000; id++) {
      const one = { id }
      open.add(one)
      expect(open.get(id)).toBe(one)
      expect(open.size).toBe(stays.length + 1)
      expect(open.remove(one)).toBe(true)
      expect(open.remove(one)).toBe(false)
      expect(open.get(id)).toBeUndefined()
    }
    for (const one of stays) expect(open.get(one.id)).toBe(one)
    for (const one of stays) expect(open.remove(one)).toBe(true)
    expect([open.size, open.list()]).toEqual([0, []])
  })

  it('are listed oldest first, and as many as there are', () => {
    const open = new OpenRequests<{ id: RequestId }>(256)
    const all = Array.from({ length: 1000 }, (_, n) => ({ id: n + 1 }))
    for (const one of all) open.add(one)
    expect(open.size).toBe(1000)
    expect(open.list()).toEqual(all)
    for (const one of all) expect(open.get(one.id)).toBe(one)
    for (const one of all) expect(open.remove(one)).toBe(true)
    expect(open.size).toBe(0)
  })

  it.each([0, -1, 2.5, Number.NaN, Number.POSITIVE_INFINITY, 1e300, '1', '', null, undefined, {}, []])(
    'do not include one with the id %s that a peer made up',
    (id) => {
      const open = new OpenRequests<{ id: RequestId }>(256)
      for (let n = 1; n < 300; n++) open.add({ id: n })
      expect(open.get(id)).toBeUndefined()
    },
  )
})
