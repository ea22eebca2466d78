// export: our servers in another client's format. It prints, or writes a new file; it never edits another
// product's file.
import { writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { findResolution, maskEntry } from '@plugboard/core/config'
import type { WrittenEntry } from '@plugboard/core/config/import'
import { InvalidInput } from '@plugboard/core/errors'
import { type Invocation, words } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'
import { isTerminal } from '../streams.ts'
import { clientOrThrow, noteText } from './import.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [id = ''] = words(invocation, ['CLIENT'])
  const client = clientOrThrow(id)
  const { output } = invocation
  const file = invocation.option('output')
  const servers = await chosen(invocation)
  // A screen is seen, shared and recorded; a file or a pipe needs the values to be of use.
  const masks = file === undefined && isTerminal(1) && !invocation.flag('show-secrets')
  const shown = masks ? new Map([...servers].map(([name, entry]) => [name, masked(entry)])) : servers
  const { text, notes } = client.print(shown)
  if (file !== undefined) await writeNew(resolve(invocation.cwd, file), text)
  output.result({ client: client.id, text, notes, ...(file !== undefined && { file }) }, () =>
    file === undefined ? text : `Wrote ${shortPath(resolve(invocation.cwd, file))}`,
  )
  if (masks && text !== client.print(servers).text)
    output.note('Secrets are masked on a terminal. Use -o FILE to write them, or --show-secrets.')
  if (!output.json) for (const note of notes) output.note(noteText(note).trimStart())
  return EXIT.done
}

function masked(entry: WrittenEntry): WrittenEntry {
  // Masking changes values, never the shape.
  return maskEntry(entry) as WrittenEntry
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
