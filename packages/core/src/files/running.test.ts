import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { isRunning } from './running.ts'

describe('a process', () => {
  it('runs while it runs, and not after its end', async () => {
    expect(isRunning(process.pid)).toBe(true)
    const child = spawn('sleep', ['60'])
    const pid = Number(child.pid)
    expect(isRunning(pid)).toBe(true)
    child.kill()
    await once(child, 'exit')
    expect(isRunning(pid)).toBe(false)
  })

  it.runIf(process.platform === 'linux')(
    'does not run when only its parent has not asked how it ended',
    async () => {
      // The shell becomes a program that never asks for its children.
      const parent = spawn('sh', ['-c', 'sleep 0 & echo $!; exec sleep 60'])
      try {
        const [line] = await once(parent.stdout, 'data')
        const pid = Number(String(line))
        await expect.poll(() => readFileSync(`/proc/${pid}/stat`, 'utf8')).toMatch(/\) Z /)
        expect(() => process.kill(pid, 0)).not.toThrow()
        expect(isRunning(pid)).toBe(false)
      } finally {
        parent.kill('SIGKILL')
      }
    },
  )
})
