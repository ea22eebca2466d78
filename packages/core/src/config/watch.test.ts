// When a configuration is read again: after a quiet moment, at the latest after a while, once at a time, and never after a stop.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { CONFIG_LIMITS } from '../limits.ts'
import { type Configuration, loadConfiguration } from './load.ts'
import { type WatchedConfiguration, watchConfiguration } from './watch.ts'

let base: string
let now: number
/** Timers that run when a test says so, by their length. */
let timers: Map<() => void, number>
let seen: string[][]
let failures: unknown[]
let watched: WatchedConfiguration | undefined
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'plugboard-watch-')))
  mkdirSync(join(base, 'home'))
  mkdirSync(join(base, 'p/.git'), { recursive: true })
  now = Date.now() + 60_000
  timers = new Map()
  seen = []
  failures = []
})
afterEach(() => {
  watched?.stop()
  watched = undefined
  rmSync(base, { recursive: true, force: true })
})
const at = (path: string) => join(base, path)
const put = (...names: string[]) => {
  const file = at('home/.plugboard/settings.json')
  mkdirSync(dirname(file), { recursive: true })
  const mcpServers = Object.fromEntries(names.map((name) => [name, { command: name }]))
  writeFileSync(file, JSON.stringify({ mcpServers }))
}
const load = () =>
  loadConfiguration({
    host: systemHost({
      env: { HOME: at('home'), PLUGBOARD_MANAGED_DIR: at('managed') },
      now: () => now,
      backgroundTimer: (ms, run) => {
        timers.set(run, ms)
        return () => timers.delete(run)
      },
    }),
    cwd: at('p'),
    withoutBuiltins: true,
  })
const names = ({ servers }: Configuration) => servers.map(({ name }) => name)
const watch = (first: Configuration, changed?: (next: Configuration) => unknown) => {
  watched = watchConfiguration(first, {
    changed: (next) => {
      seen.push(names(next))
      return changed?.(next)
    },
    failed: (error) => failures.push(error),
  })
  return watched
}
const waits = () => [...timers.values()].filter((ms) => ms !== CONFIG_LIMITS.watchPollMs)
/** Runs the timers of this kind. */
function pass(kind: 'poll' | 'settle'): void {
  for (const [run, ms] of [...timers])
    if ((ms === CONFIG_LIMITS.watchPollMs) === (kind === 'poll')) {
      timers.delete(run)
      run()
    }
}
const settled = (count: number) => expect.poll(() => seen).toHaveLength(count)

describe('a watched configuration', () => {
  it('is read again when a poll finds a file that changed, appeared or went, and not otherwise', async () => {
    put('a')
    watch(await load())
    timers.delete([...timers].find(([, ms]) => ms !== CONFIG_LIMITS.watchPollMs)?.[0] ?? (() => undefined))
    pass('poll')
    expect(waits()).toEqual([])
    put('a', 'b')
    pass('poll')
    expect(waits()).toEqual([CONFIG_LIMITS.watchSettleMs])
    pass('settle')
    await settled(1)
    expect(seen).toEqual([['a', 'b']])
    pass('poll')
    writeFileSync(at('p/.mcp.json'), '{"mcpServers":{"c":{"command":"c"}}}')
    pass('poll')
    pass('settle')
    await settled(2)
    expect(seen[1]).toEqual(['a', 'b', 'c'])
    expect([...timers.values()].filter((ms) => ms === CONFIG_LIMITS.watchPollMs)).toHaveLength(1)
  })

  it('is read soon when the system tells of a change of one of its files', async () => {
    put('a')
    watch(await load())
    timers.delete([...timers].find(([, ms]) => ms !== CONFIG_LIMITS.watchPollMs)?.[0] ?? (() => undefined))
    writeFileSync(at('home/.plugboard/unrelated.txt'), '1')
    writeFileSync(at('home/unrelated.txt'), '1')
    await new Promise((done) => setTimeout(done, 50))
    expect(waits()).toEqual([])
    put('b')
    await expect.poll(waits).toEqual([CONFIG_LIMITS.watchSettleMs])
    // A change of the links that a volume is swapped by counts too.
    timers.clear()
    writeFileSync(at('home/.plugboard/..data'), '1')
    await expect.poll(() => timers.size).toBe(1)
  })

  it('waits for a quiet moment, but not for ever', async () => {
    put('a')
    const one = watch(await load())
    timers.clear()
    const change = async (text: string) => {
      put(text)
      await expect.poll(waits).toHaveLength(1)
    }
    await change('b')
    expect(waits()).toEqual([CONFIG_LIMITS.watchSettleMs])
    now += CONFIG_LIMITS.watchSettleAtMostMs - 10
    const [[first] = []] = timers
    put('c')
    await expect.poll(() => timers.has(first ?? (() => undefined))).toBe(false)
    await expect.poll(waits).toEqual([10])
    now += 1000
    put('d')
    await expect.poll(waits).toEqual([0])
    pass('settle')
    await settled(1)
    await change('e')
    expect(waits()).toEqual([CONFIG_LIMITS.watchSettleMs])
    one.stop()
    expect(timers.size).toBe(0)
  })

  it('is read once at a time, and once more when it changed meanwhile', async () => {
    put('a')
    const first = await load()
    let let1: () => void = () => undefined
    const one = watch(first, () =>
      seen.length === 1 ? new Promise<void>((done) => (let1 = done)) : undefined,
    )
    timers.clear()
    put('b')
    const reading = one.reload()
    await settled(1)
    await one.reload()
    expect(seen).toHaveLength(1)
    timers.clear()
    let1()
    await reading
    expect(waits()).toEqual([CONFIG_LIMITS.watchSettleMs])
    timers.clear()
    await one.reload()
    expect([seen.length, waits()]).toEqual([2, []])
  })

  it('tells a failure once, tries again at every poll, and forgets it when it is over', async () => {
    put('a')
    let broken = true
    const one = watch(await load(), () => {
      if (broken) throw new Error('not applied')
    })
    timers.clear()
    await one.reload()
    await one.reload()
    expect(failures.map(String)).toEqual(['Error: not applied'])
    watched?.stop()
    timers.clear()
    seen = []
    const two = watch(await load(), () => {
      if (broken) throw new Error('not applied')
    })
    await two.reload()
    for (const [run, ms] of [...timers]) if (ms !== CONFIG_LIMITS.watchPollMs) timers.delete(run)
    pass('poll')
    expect(waits()).toHaveLength(1)
    broken = false
    pass('settle')
    await settled(2)
    await expect.poll(() => failures).toHaveLength(2)
    pass('poll')
    expect(waits()).toEqual([])
    broken = true
    await two.reload()
    expect(failures).toHaveLength(3)
  })

  it('is read at once when a file changed between the reading and the watch', async () => {
    put('a')
    const old = new Date(now - 3_600_000)
    const first = await load()
    watch({ ...first, readAt: Date.now() + 60_000 })
    expect(waits()).toEqual([])
    watched?.stop()
    timers.clear()
    watch({ ...first, readAt: Date.now() - 60_000 })
    expect(waits()).toEqual([CONFIG_LIMITS.watchSettleMs])
    watched?.stop()
    timers.clear()
    // Only files count, not folders that were touched.
    rmSync(at('home/.plugboard/settings.json'))
    mkdirSync(at('home/.plugboard/settings.json'))
    utimesSync(at('home/.plugboard/settings.json'), old, old)
    watch({ ...first, readAt: Date.now() - 60_000 })
    expect(waits()).toEqual([])
  })

  it.runIf(process.platform === 'linux')('that is stopped watches nothing and says nothing', async () => {
    const watches = () =>
      readdirSync('/proc/self/fdinfo').flatMap((fd) => {
        try {
          const lines = readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8').split('\n')
          return lines.filter((line) => line.startsWith('inotify'))
        } catch {
          // Closed since it was listed.
          return []
        }
      }).length
    put('a')
    const before = watches()
    const one = watch(await load())
    expect(watches()).toBeGreaterThan(before)
    const reading = one.reload()
    one.stop()
    await reading
    expect([seen, failures, timers.size, watches()]).toEqual([[], [], 0, before])
    put('b')
    await new Promise((done) => setTimeout(done, 30))
    expect(timers.size).toBe(0)
  })

  it('follows a folder that appears, and the nearest one while it is missing', async () => {
    const one = watch(await load())
    timers.clear()
    put('a')
    await expect.poll(waits).toHaveLength(1)
    timers.clear()
    await one.reload()
    expect(seen).toEqual([['a']])
    timers.clear()
    put('b')
    await expect.poll(waits).toHaveLength(1)
  })
})
