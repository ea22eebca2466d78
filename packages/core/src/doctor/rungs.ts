// rungs.ts: the words of a diagnosis: the rungs a server climbs until its tools can be used, and what is told of each.

/** In the order they are climbed; a server meets only those of its kind. */
export const RUNGS = [
  'config',
  'trust',
  'policy',
  'command',
  'start',
  'dns',
  'tcp',
  'tls',
  'http',
  'era',
  'auth',
  'capabilities',
  'lists',
] as const
export type RungName = (typeof RUNGS)[number]

export interface Rung {
  readonly rung: RungName
  readonly ok: boolean
  readonly detail?: string
  /** What a person can do about it. */
  readonly hint?: string
}

export function held(rung: RungName, detail?: string): Rung {
  return { rung, ok: true, ...(detail && { detail }) }
}

export function broke(rung: RungName, detail: string, hint?: string): Rung {
  return { rung, ok: false, detail, ...(hint && { hint }) }
}
