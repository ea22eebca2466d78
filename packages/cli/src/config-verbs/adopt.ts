// adopt: another client's servers move here, and the client gets one entry that leads to this board. --undo puts its
// file back.
import { printable } from '@plugboard/core/config'
import {
  type Adoption,
  adopt,
  clientFiles,
  findAdoptable,
  ownEntry,
  planAdoption,
  undoAdoption,
} from '@plugboard/core/config/adopt'
import { InvalidInput } from '@plugboard/core/errors'
import { lazyModule } from '@plugboard/core/lazy'
import { type Invocation, words } from '../context.ts'
import { EXIT, shortPath } from '../output.ts'
import { type CommandLine, type RunningCopies, runningCopies } from '../shared/running-copies.ts'
import { noteText } from './import.ts'

export async function run(invocation: Invocation): Promise<number> {
  const [id] = words(invocation, ['CLIENT'], 1)
  const client = findAdoptable(id)
  const configuration = await invocation.configuration()
  if (invocation.flag('undo')) {
    const undone = await undoAdoption(configuration, client)
    invocation.output.result(undone, () =>
      [
        ...undone.files.map((file) => `Restored ${shortPath(file)}`),
        ...(undone.removed.length > 0 ? [`Removed here: ${undone.removed.join(', ')}`] : []),
        ...(undone.kept.length > 0 ? [`Kept here, because you changed them: ${undone.kept.join(', ')}`] : []),
        restart(client.title),
      ].join('\n'),
    )
    return EXIT.done
  }
  const own = ownEntry(process.execPath, lazyModule('node:fs').realpathSync(process.argv[1] ?? ''))
  const dryRun = invocation.flag('dry-run')
  const planned = await planAdoption(configuration, client, own)
  if (planned.files.length === 0) return nothing(invocation, planned, clientFiles(client, configuration))
  const now = runningCopies(planned.files.flatMap(commandLines))
  const done = dryRun ? planned : await adopt(configuration, invocation.host, client, own)
  report(invocation, done, now, dryRun)
  return EXIT.done
}

function nothing(invocation: Invocation, plan: Adoption, files: readonly string[]): number {
  const { client } = plan
  const { existsSync } = lazyModule('node:fs')
  if (!files.some((file) => existsSync(file)))
    throw new InvalidInput(`${client.title} has no configuration of yours here.`, {
      hint: `Looked for ${files.map(shortPath).join(', ')}.`,
    })
  invocation.output.result(
    { client: client.id, files: [], servers: [] },
    () => `${client.title} has no servers left to adopt.`,
  )
  return EXIT.done
}

function commandLines({ servers }: Adoption['files'][number]): readonly CommandLine[] {
  return servers.flatMap(({ entry: { command, args } }) =>
    typeof command === 'string' ? [{ command, args: Array.isArray(args) ? args.map(String) : [] }] : [],
  )
}

function report(
  { output }: Invocation,
  { client, files, notes, record }: Adoption,
  now: RunningCopies | undefined,
  dryRun: boolean,
): void {
  const servers = files.flatMap(({ file, servers: list }) =>
    list.map(({ original, name, outcome }) => ({ original, name, outcome, from: file })),
  )
  const left = files.flatMap((file) => file.left)
  output.result(
    {
      client: client.id,
      dryRun,
      files: files.map(({ file }) => file),
      servers,
      left,
      notes,
      ...(record && { record }),
      ...(now && { running: now }),
    },
    () =>
      [
        ...files.flatMap(({ file, before, after }) => [shortPath(file), ...changedLines(before, after)]),
        '',
        ...servers.map(({ original, name, outcome }) => {
          const as = original === name ? '' : ` (there: ${printable(original)})`
          return outcome === 'known'
            ? `  ${name}${as} is already here`
            : `  ${name}${as} ${dryRun ? 'would be added' : 'was added'} here, for you`
        }),
        ...left.map((name) => `  ${printable(name)} stays there: it cannot be converted`),
        ...notes.map(noteText),
        ...savings(now, servers.length),
        dryRun
          ? 'Nothing was changed.'
          : `${restart(client.title)} \`plugboard adopt ${client.id} --undo\` puts its file back.`,
      ].join('\n'),
  )
}

const restart = (title: string) => `Restart ${title} to let it read its file.`

function savings(now: RunningCopies | undefined, servers: number): string[] {
  if (!now || now.processes === 0) return []
  const mebibytes = Math.round(now.bytes / 2 ** 20)
  return [
    `Running now: ${now.processes} processes with ${mebibytes} MiB for ${now.copies} copies of these servers; shared, ${servers} is the most there will be.`,
  ]
}

const SHOWN = 40

/** The lines that differ, without their values: a client's file may hold tokens. */
function changedLines(before: string, after: string): string[] {
  const old = before.split(/\r?\n/)
  const fresh = after.split(/\r?\n/)
  let head = 0
  while (head < old.length && head < fresh.length && old[head] === fresh[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < fresh.length - head && old.at(-1 - tail) === fresh.at(-1 - tail))
    tail++
  const gone = old.slice(head, old.length - tail)
  const come = fresh.slice(head, fresh.length - tail)
  return [
    ...(gone.length > 0 ? [`  - ${gone.length} line${gone.length === 1 ? '' : 's'}`] : []),
    ...come.slice(0, SHOWN).map((line) => `  + ${printable(line)}`),
  ]
}
