// Turns bound the processors that indexing keeps busy: never the text index and the semantic index at once.
import { describe, expect, it } from 'vitest'
import { CpuTurns } from './cpu-turns.ts'

const never = new AbortController().signal

/** Work that reports when it runs and ends when it is told to. */
function job() {
  let end: () => void = () => undefined
  let begin: () => void = () => undefined
  const began = new Promise<void>((done) => {
    begin = done
  })
  const ended = new Promise<void>((done) => {
    end = done
  })
  let runs = false
  const work = async () => {
    runs = true
    begin()
    await ended
    runs = false
  }
  return { work, end: () => end(), began, runs: () => runs }
}

const settled = () => new Promise<void>((done) => setImmediate(done))

describe('turns', () => {
  it('let shared jobs run in parallel, and an exclusive one only when they are done', async () => {
    const turns = new CpuTurns()
    const [one, two, alone, late] = [job(), job(), job(), job()]
    const all = [turns.beside(one.work, never), turns.beside(two.work, never)]
    await Promise.all([one.began, two.began])
    all.push(turns.alone(alone.work), turns.beside(late.work, never))
    await settled()
    expect([alone.runs(), late.runs()]).toEqual([false, false])
    one.end()
    await settled()
    expect(alone.runs()).toBe(false)
    two.end()
    await alone.began
    await settled()
    expect(late.runs()).toBe(false)
    alone.end()
    await late.began
    late.end()
    await Promise.all(all)
  })

  it('are given to exclusive jobs one after the other, whether they succeed or fail', async () => {
    const turns = new CpuTurns()
    const failed = turns.alone(() => Promise.reject(new Error('no room')))
    const next = turns.alone(async () => 'next')
    await expect(failed).rejects.toThrow('no room')
    expect(await next).toBe('next')
    expect(await turns.beside(async () => 'beside', never)).toBe('beside')
  })

  it('are not waited for by an aborted job', async () => {
    const turns = new CpuTurns()
    const alone = job()
    const running = turns.alone(alone.work)
    await alone.began
    const stop = new AbortController()
    const waiting = turns.beside(async () => 'too late', stop.signal)
    stop.abort(new Error('stopped'))
    await expect(waiting).rejects.toThrow('stopped')
    alone.end()
    await running
  })
})
