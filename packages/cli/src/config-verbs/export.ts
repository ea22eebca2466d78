// export: our servers in another client's format. It prints, or writes a new file; it never edits another
// product's file.
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { findResolution } from '@plugboard/core/config'
import type { WrittenEntry } from '@plugboard/core/config/import'
import { InvalidInput } from '@plugboard/core/errors'
import { type Invocation, words } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'
import { clientOrThrow, noteText } from './import.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [id = ''] = words(invocation, ['CLIENT'])
  const client = clientOrThrow(id)
  const { output } = invocation
  const { text, notes } = client.print(await chosen(invocation))
  const file = invocation.option('output')
  if (file !== undefined) await writeNew(resolve(invocation.cwd, file), text)
  output.result({ client: client.id, text, notes, ...(file !== undefined && { file }) }, () =>
    file === undefined ? text : `Wrote ${shortPath(resolve(invocation.cwd, file))}`,
  )
  if (!output.json) for (const note of notes) output.note(noteText(note).trimStart())
  return EXIT.done
}

async function chosen(invocation: Invocation): Promise<ReadonlyMap<string, WrittenEntry>> {
  const configuration = await invocation.configuration()
  const only = invocation.options('only')
  for (const name of only) findResolution(configuration, name)
  const servers = new Map<string, WrittenEntry>()
  for (const { name, contenders } of configuration.resolutions.values()) {
    const winner = contenders.find(({ verdict }) => verdict.kind === 'winner')?.definition
    if (only.length === 0 ? winner?.source.file === 'built-in' : !only.includes(name)) continue
    if (!winner && only.length > 0)
      throw new InvalidInput(`No definition of "${name}" is valid, so there is nothing to export.`, {
        hint: `Run \`plugboard explain ${name}\` to see what is wrong.`,
      })
    // A winner passed validation, so what was written is an object.
    if (winner) servers.set(name, winner.written as WrittenEntry)
  }
  return servers
}

async function writeNew(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST')
      throw new InvalidInput(
        `${file} already exists, and plugboard does not change files of other products.`,
        {
          hint: 'Print to stdout and merge it by hand, or choose a new file.',
        },
      )
    throw new InvalidInput(`${file} could not be written (${code}).`, { cause: error })
  }
}
