// start.ts: starts the resident process for a command: the same program, with `up --foreground`.
import type { Host } from '@plugboard/core/host'
import { startAndDial } from '@plugboard/resident/start'
import { placeOf, VERSION } from './process.ts'

/** Less memory rather than more speed: it waits most of the time, and every user has one. */
export const NODE_FLAGS = ['--max-semi-space-size=2', '--optimize-for-size'] as const

type Hooks = Parameters<typeof startAndDial>[1]

export async function startResident(host: Host, hooks: Hooks): ReturnType<typeof startAndDial> {
  const program = process.argv[1] ?? ''
  return await startAndDial(
    {
      place: placeOf(host),
      version: VERSION,
      command: [process.execPath, ...NODE_FLAGS, program, 'up', '--foreground', '--quiet'],
      env: host.env,
    },
    hooks,
  )
}
