// steps.ts: the types of a diagnosis: the steps until a server's tools can be used, and the outcome of each.

/** In the order they are checked; a server has only those of its kind. */
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
  /** What the user can do about it. */
  readonly hint?: string
}

export function passed(rung: StepName, detail?: string): Step {
  return { rung, ok: true, ...(detail && { detail }) }
}

export function failed(rung: StepName, detail: string, hint?: string): Step {
  return { rung, ok: false, detail, ...(hint && { hint }) }
}
