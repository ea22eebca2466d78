// When a child counts as gone: its process id may belong to another process from then on, and gets no signal.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, describe, expect, it } from 'vitest'
import { systemHost } from '../host.ts'
import { ProcessGroup } from './process-group.ts'

const started: ChildProcess[] = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
})

/** The signals that are sent while `work` runs; signal 0 only asks whether a process exists. */
async function signalsDuring(work: () => Promise<void>): Promise<string[]> {
  const sent: string[] = []
  const kill = process.kill
  process.kill = (target: number, signal?: string | number) => {
    if (signal !== 0) sent.push(String(signal))
    return kill.call(process, target, signal)
  }
  try {
    await work()
  } finally {
    process.kill = kill
  }
  return sent
}

describe('a group whose only process is gone', () => {
  it.each([
    ['by itself', 'exit 0', 'end'],
    ['by itself with a code', 'exit 3', 'sweep'],
    ['by a signal', 'kill -KILL $$', 'end'],
    ['by a signal, without a close', 'kill -KILL $$', 'sweep'],
  ] as const)('gets no signal: %s', async (_, script, way) => {
    const child = spawn('sh', ['-c', script], { detached: true, stdio: 'ignore' })
    started.push(child)
    const group = new ProcessGroup(child, child.pid ?? 0, systemHost())
    await once(child, 'exit')
    expect(await signalsDuring(() => group[way]())).toEqual([])
  })
})
