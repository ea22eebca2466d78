// find-or-start.ts: whether a command uses the resident process, and how it starts one when none runs.
import type { openRemote } from '@plugboard/resident/open-remote'
import type { Invocation } from '../context.ts'
import { mayUseResident } from './use-resident.ts'

/** Whether this command may use the resident process, as far as the command line and the environment say. */
export function usesResident(invocation: Invocation): boolean {
  const { env, platform } = invocation.host
  return mayUseResident({ env, platform, forbidden: invocation.flag('no-resident') })
}

type Start = NonNullable<Parameters<typeof openRemote>[0]['start']>

/** Starts the process for this command, unless the settings say that none shall run. */
export function starterFor(invocation: Invocation): Start {
  return async (hooks) => {
    const { resident } = await invocation.configuration()
    if (resident.enabled === false) return { kind: 'unusable', why: 'the settings say "resident": false' }
    return await (await import('./start.ts')).startResident(invocation.host, hooks)
  }
}
