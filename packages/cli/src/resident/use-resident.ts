// use-resident.ts: whether a command may use the resident process before any file is read. Pure: the environment and the flags
// decide. What the settings say is known to the process itself, and to a command that would start it.

export interface ResidentFacts {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: NodeJS.Platform
  /** `--no-resident`. */
  readonly forbidden: boolean
}

export function mayUseResident({ env, platform, forbidden }: ResidentFacts): boolean {
  const said = env['PLUGBOARD_RESIDENT']
  // A build starts from nothing and leaves nothing behind. Named pipes cannot be checked for their owner.
  if (forbidden || isOn(env['CI']) || platform === 'win32') return false
  return said === undefined || said === '' || isOn(said)
}

function isOn(value: string | undefined): boolean {
  return value !== undefined && value !== '' && value !== '0' && value.toLowerCase() !== 'false'
}
