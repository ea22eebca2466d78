// colors.ts: the few styles the command uses. A package for it would load Node's terminal module at every start.

const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
} as const

export type Colors = Readonly<Record<keyof typeof STYLES, (text: string) => string>>

export function createColors(enabled: boolean): Colors {
  const painted = Object.entries(STYLES).map(([name, [on, off]]) => [
    name,
    enabled ? (text: string) => `\x1b[${on}m${text}\x1b[${off}m` : (text: string) => text,
  ])
  // Built from the table's own entries, so every name is there.
  return Object.fromEntries(painted) as Colors
}
