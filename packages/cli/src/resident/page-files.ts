// page-files.ts: where the built page of the board is: beside the bundle of the command.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** Undefined when the command runs from its sources, which have no built page. */
export function pageFiles(): string | undefined {
  const folder = fileURLToPath(new URL('../web', import.meta.url))
  return existsSync(folder) ? folder : undefined
}
