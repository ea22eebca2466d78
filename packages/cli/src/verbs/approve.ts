// approve: shows what a project's servers would run, and remembers the yes for exactly that.
import { findResolution, type PendingApproval, pendingApprovals } from '@plugboard/core/config'
import { approve } from '@plugboard/core/config/manage'
import { InvalidInput } from '@plugboard/core/errors'
import type { Invocation } from '../context.ts'
import { EXIT, safe, shortPath } from '../output.ts'
import { isTerminal, write } from '../streams.ts'

export async function run(invocation: Invocation): Promise<number> {
  const { output, host, positionals } = invocation
  const configuration = await invocation.configuration()
  const pending = pendingApprovals(configuration)
  for (const name of positionals) findResolution(configuration, name)
  const asked = positionals.length > 0 ? pending.filter(({ name }) => positionals.includes(name)) : pending
  const open = positionals.length === 0 && !invocation.flag('yes') && !output.json
  // Without a terminal there is nobody to ask again: the command itself is the yes, and its answer shows to what.
  const interactive = open && asked.length > 0 && isTerminal(0)
  // Somebody is there, but would not see what is asked.
  if (interactive && !isTerminal(2))
    throw new InvalidInput('You cannot be asked here: stderr is not the terminal.', {
      hint: 'Name what to approve (`plugboard approve NAME`), or give --yes to approve all of it.',
    })
  const agreed = interactive ? await askEach(invocation, asked) : asked
  await approve(configuration, host, agreed)
  output.result({ approved: agreed.map(({ name, file, hash }) => ({ name, source: file, hash })) }, () => {
    if (agreed.length === 0)
      return asked.length === 0 ? 'Nothing waits for approval here.' : 'Nothing was approved.'
    return agreed
      .map((entry) => `Approved ${entry.name} from ${shortPath(entry.file)}\n${show(entry)}`)
      .join('\n')
  })
  return EXIT.done
}

/** One after the other; whoever leaves has said no to the rest. */
async function askEach(
  invocation: Invocation,
  pending: readonly PendingApproval[],
): Promise<PendingApproval[]> {
  const { askLine, Left } = await import('../terminal/keys.ts')
  const { bold, dim } = invocation.output.errorColor
  const agreed: PendingApproval[] = []
  try {
    for (const entry of pending) {
      write(2, `\n${bold(entry.name)} ${dim(`${shortPath(entry.file)}, ${entry.because}`)}\n${show(entry)}\n`)
      const answer = await askLine({ prompt: 'Let it start? [y/N] ' })
      if (/^y(es)?$/i.test(answer.trim())) agreed.push(entry)
    }
  } catch (error) {
    if (!(error instanceof Left)) throw error
  }
  return agreed
}

/**
 * What a yes would mean, exactly as it is written: whoever wrote it could hide a command inside what looks like a
 * secret, so nothing is masked here, and nothing that a terminal would obey gets through.
 */
function show({ written }: PendingApproval): string {
  return safe(JSON.stringify(written, null, 2)).replace(/^/gm, '  ')
}
