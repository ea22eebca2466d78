// steps.ts: the words of a diagnosis: the rungs a server climbs until its tools can be used, and what is told of each.

/** In the order they are climbed; a server meets only those of its kind. */
export const STEPS = [
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
export type StepName = (typeof STEPS)[number]

export interface Step {
  readonly rung: StepName
  readonly ok: boolean
  readonly detail?: string
  /** What a person can do about it. */
  readonly hint?: string
}

export function passed(rung: StepName, detail?: string): Step {
  return { rung, ok: true, ...(detail && { detail }) }
}

export function failed(rung: StepName, detail: string, hint?: string): Step {
  return { rung, ok: false, detail, ...(hint && { hint }) }
}
