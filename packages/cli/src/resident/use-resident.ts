// use-resident.ts: whether a command uses the resident process. Pure: the environment, the flags and the settings decide.

/** `if-running`: one that runs is used, none is started. */
export type ResidentUse = 'never' | 'if-running' | 'start'

export interface ResidentFacts {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  /** `--no-resident`. */
  readonly forbidden: boolean
  /** What the settings say, once they were read. */
  readonly setting?: boolean | undefined
}

export function residentUse({ env, platform, forbidden, setting }: ResidentFacts): ResidentUse {
  const said = env['PLUGBOARD_RESIDENT']
  // A build starts from nothing and leaves nothing behind. Named pipes cannot be checked for their owner.
  if (forbidden || isOn(env['CI']) || platform === 'win32') return 'never'
  if (said !== undefined && said !== '') return isOn(said) ? 'start' : 'never'
  if (setting === undefined) return 'if-running'
  return setting ? 'start' : 'never'
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value.toLowerCase() !== 'false'
}
