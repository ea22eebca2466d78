// output-file.ts: writes a result to the file that the user named.
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { InvalidInput } from '@plugboard/core/errors'
import type { Invocation } from '../context.ts'

/** Where it was written. */
export async function writeTarget(target: string, bytes: Uint8Array, { cwd }: Invocation): Promise<string> {
  const path = resolve(cwd, target)
  try {
    await writeFile(path, bytes)
  } catch (error) {
    throw new InvalidInput(`${path} could not be written (${(error as NodeJS.ErrnoException).code}).`, {
      cause: error,
    })
  }
  return path
}
