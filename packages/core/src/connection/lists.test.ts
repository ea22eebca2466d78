import { describe, expect, it } from 'vitest'
import { type Host, systemHost } from '../host.ts'
import { LIST_LIMITS } from '../limits.ts'
import { board, fixture, recorded, until } from './fixtures/kit.ts'
import { CachedList, TOOLS } from './lists.ts'
import type { Json } from './server-info.ts'

const tool = (name: string) => ({ name, inputSchema: { type: 'object' } })

function listOf(
  fetch: (params: Json | undefined, signal: AbortSignal) => Promise<Json>,
  host: Host = systemHost(),
) {
  const warnings: string[] = []
  const list = new CachedList({
    spec: TOOLS,
    host,
    fetch: (_method, params, signal) => fetch(params, signal),
    changed: () => undefined,
    warn: (text) => warnings.push(text),
  })
  return { list, warnings }
}

describe('a cached list', () => {
  it('is read once for all who ask at the same time, and not again while it is fresh', async () => {
    let reads = 0
    const { list } = listOf(async () => {
      reads++
      return { tools: [tool('a')] }
    })
    const [first, second] = await Promise.all([list.get(), list.get()])
    expect(first).toBe(second)
    await list.get()
    expect(reads).toBe(1)
  })

  it('keeps the last known items through an error, and the error beside them', async () => {
    let fail = false
    const { list } = listOf(async () => {
      if (fail) throw new Error('down')
      return { tools: [tool('a')] }
    })
    await list.get()
    fail = true
    list.drop()
    await expect(list.get()).rejects.toThrow('down')
    expect(list.items.map(({ name }) => name)).toEqual(['a'])
    expect(list.error).toBeInstanceOf(Error)
  })

  it('reads again when a change is announced in the middle of a reading', async () => {
    const answers = [tool('old'), tool('new')]
    let reads = 0
    const { list } = listOf(async () => {
      const answer = answers[Math.min(reads++, 1)]
      if (reads === 1) list.invalidate()
      return { tools: [answer] }
    })
    await list.get()
    await until('the new reading is there', () => list.items[0]?.name === 'new')
    expect(reads).toBe(2)
  })

  it('waits for a flood of changes to calm down, but not for ever', async () => {
    let now = 0
    let due: { at: number; run: () => void } | undefined
    const pass = async (ms: number) => {
      now += ms
      const { at, run } = due ?? { at: Number.POSITIVE_INFINITY, run: () => undefined }
      if (at > now) return
      due = undefined
      run()
      await new Promise((done) => setImmediate(done))
    }
    const host = systemHost({
      now: () => now,
      backgroundTimer: (ms, run) => {
        const mine = { at: now + ms, run }
        due = mine
        return () => {
          if (due === mine) due = undefined
        }
      },
    })
    let reads = 0
    const { list } = listOf(async () => ({ tools: [tool(`v${++reads}`)] }), host)
    for (let i = 0; i < 1000; i++) list.invalidate()
    await pass(LIST_LIMITS.debounceMs)
    expect(reads).toBe(1)
    for (let ms = 0; ms < 3 * LIST_LIMITS.maxWaitMs; ms += 10) {
      list.invalidate()
      await pass(10)
    }
    expect(reads).toBeGreaterThanOrEqual(3)
    expect(reads).toBeLessThanOrEqual(5)
  })

  it('ends a reading when the connection goes', async () => {
    const { list } = listOf(
      (_params, signal) =>
        new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
    )
    const reading = list.get()
    list.drop()
    await expect(reading).rejects.toThrow('stopped')
    expect(list.error).toBeUndefined()
  })

  it('refuses to be poisoned by an item named __proto__', async () => {
    const { list } = listOf(async () => JSON.parse('{"tools":[{"name":"__proto__","inputSchema":{}}]}'))
    expect((await list.get()).map(({ name }) => name)).toEqual(['__proto__'])
  })
})

describe('lists of real servers', () => {
  it('reads 10,000 tools over 200 pages', async () => {
    const made = await board({ servers: [fixture('raw', 'raw', { fault: 'many-pages' }).server] })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', tools: 10_000 })
    expect(made.link.definitions().at(-1)?.tool.name).toBe('tool-9999')
  })

  it('stops at a cursor that repeats', async () => {
    const raw = fixture('raw', 'raw', { fault: 'cursor-loop' })
    const made = await board({ servers: [raw.server] })
    await made.ready()
    expect(made.servers()[0]).toMatchObject({ state: 'connected', tools: 2 })
    expect(raw.seen().filter(({ method }) => method === 'tools/list')).toHaveLength(2)
  })

  it('loses only the tool that is malformed, and says so', async () => {
    const made = await board({ servers: [fixture('raw', 'raw', { fault: 'bad-tool' }).server] })
    const events = recorded(made)
    await made.ready()
    expect(made.link.definitions().map(({ tool: { name } }) => name)).toEqual(['good', 'no-schema'])
    const lines = events.flatMap((event) => (event.type === 'log' ? [event.line.text] : []))
    expect(lines.filter((line) => line.startsWith('tools/list:'))).toHaveLength(2)
    const told = events.flatMap((event) => (event.type === 'warning' ? [event.text] : []))
    expect(told).toEqual([
      'raw: a tool that is not an object; it is left out',
      'raw: a tool without a name; it is left out',
    ])
  })

  it('answers a thousand list_changed with few readings, and ends up right', async () => {
    const raw = fixture('raw', 'raw', { fault: 'flood' })
    const made = await board({ servers: [raw.server] })
    await made.ready()
    expect(made.link.definitions().map(({ tool: { name } }) => name)).toEqual(['v1'])
    await made.link.request('raw', 'tools/call', { name: 'flood' })
    await until('the new list is there', () => made.link.definitions()[0]?.tool.name === 'v2')
    expect(raw.seen().filter(({ method }) => method === 'tools/list').length).toBeLessThan(10)
  })

  it('takes a list the server does not know for an empty one', async () => {
    const made = await board({ servers: [fixture('raw', 'raw').server] })
    await made.ready()
    expect(await made.link.connection('raw').list('templates')).toEqual([])
  })
})
