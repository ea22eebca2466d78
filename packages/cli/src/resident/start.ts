// start.ts: starts the resident process for a command: the same program, with `up --foreground`.
import type { Host } from '@plugboard/core/host'
import { startAndDial } from '@plugboard/resident/start'
import { placeOf, VERSION } from './process.ts'

/** Every user has one, and it waits most of the time: little room for young objects. V8 still optimises what runs often. */
export const NODE_FLAGS = ['--max-semi-space-size=1'] as const

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
