// process.ts: where the resident process of this user is.
import { stateFolder } from '@plugboard/core/config'
import type { Host } from '@plugboard/core/host'
import { type ResidentPlace, residentPlace } from '@plugboard/resident/client'

/** The bundle names it; the sources run as version 0. */
export const VERSION = process.env['PLUGBOARD_VERSION'] ?? '0.0.0'

export function placeOf(host: Pick<Host, 'env' | 'home'>): ResidentPlace {
  return residentPlace(stateFolder(host))
}

/** The environment as it is sent. */
export function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  )
}
