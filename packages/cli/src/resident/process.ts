// process.ts: where the resident process of this user is, and whether this command uses it.
import { stateFolder } from '@plugboard/core/config'
import type { Host } from '@plugboard/core/host'
import { lazyModule } from '@plugboard/core/lazy'
import { type ResidentPlace, residentPlace } from '@plugboard/resident/client'
import type { Invocation } from '../context.ts'
import { type ResidentUse, residentUse } from './use-resident.ts'

/** The bundle names it; the sources run as version 0. */
export const VERSION = process.env['PLUGBOARD_VERSION'] ?? '0.0.0'

export function placeOf(host: Pick<Host, 'env' | 'home'>): ResidentPlace {
  return residentPlace(stateFolder(host))
}

/** `if-running` only while one may run. */
export async function useOf(invocation: Invocation): Promise<ResidentUse> {
  const { host } = invocation
  const facts = { env: host.env, platform: host.platform, forbidden: invocation.flag('no-resident') }
  const use = residentUse(facts)
  if (use !== 'if-running') return use
  // The process reads the settings itself; only whether to start one has to be known here.
  if (lazyModule('node:fs').existsSync(placeOf(host).socket)) return use
  const { resident } = await invocation.configuration()
  const wanted = residentUse({ ...facts, setting: resident.enabled })
  return wanted === 'start' ? 'start' : 'never'
}

/** The environment as it is sent. */
export function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
