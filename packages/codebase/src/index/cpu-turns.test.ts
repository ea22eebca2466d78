// Turns are what bounds the processors that indexing keeps busy: never the text index and the search by meaning at once.
import { describe, expect, it } from 'vitest'
import { CpuTurns } from './cpu-turns.ts'

const never = new AbortController().signal

/** Work that says when it runs and ends when it is told to. */
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
  it('let jobs run beside each other, and one alone only when they are done', async () => {
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

  it('are had one after the other by those who want to be alone, whatever becomes of them', async () => {
    const turns = new CpuTurns()
    const failed = turns.alone(() => Promise.reject(new Error('no room')))
    const next = turns.alone(async () => 'next')
    await expect(failed).rejects.toThrow('no room')
    expect(await next).toBe('next')
    expect(await turns.beside(async () => 'beside', never)).toBe('beside')
  })

  it('are not waited for by one that is told to stop', async () => {
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
