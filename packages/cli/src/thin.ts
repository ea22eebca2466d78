// thin.ts: the ordinary case of an ordinary command: no terminal, a resident process that runs. The process runs the verb, and
// this one writes what comes back. Everything else is main.ts. It is a bundle of its own, as small as can be.
import { stateFolder } from '@plugboard/core/config'
import { homeOf } from '@plugboard/core/host'
import { type RanCommand, residentPlace, runCommand } from '@plugboard/resident/client'
import { EXIT } from './exit-codes.ts'
import { namesFile } from './file-arguments.ts'
import { isUnread, put } from './raw-output.ts'
import { mayUseResident } from './resident/use-resident.ts'
import { mayBeTerminal } from './terminal-device.ts'

/** What the process may run for a command. */
const VERBS = new Set(['call', 'list', 'prompt', 'prompts', 'read', 'resources', 'skills', 'tools'])

const DESCRIPTORS = [0, 1, 2] as const

export async function thin(argv: readonly string[]): Promise<RanCommand> {
  const { env, platform } = process
  const isOrdinary =
    VERBS.has(argv[0] ?? '') &&
    !argv.some(isUnusual) &&
    !env['FORCE_COLOR'] &&
    mayUseResident({ env, platform, forbidden: false }) &&
    // A user at a terminal can be asked, and sees how it goes.
    !DESCRIPTORS.some(mayBeTerminal)
  if (!isOrdinary) return { kind: 'none' }
  const place = residentPlace(stateFolder({ env, home: homeOf(env) }))
  const version = process.env['PLUGBOARD_VERSION'] ?? ''
  const cwd = currentFolder()
  const running = cwd === undefined ? undefined : runCommand({ place, version, argv, cwd, env, write: put })
  let interrupted = false
  const onSignal = () => {
    if (interrupted) process.exit(EXIT.interrupted)
    interrupted = true
    running?.interrupt()
  }
  // While the process works. A signal before this ends the command, and with it what the process does for it.
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  const ran: RanCommand = running ? await running.ended : { kind: 'none' }
  process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  // The user's Ctrl-C counts, also for a verb that was not begun.
  if (interrupted && ran.kind === 'none') process.exit(EXIT.interrupted)
  // At once, unless a reader of the output is slow.
  if (ran.kind === 'exit' && !isUnread()) process.exit(ran.code)
  return ran
}

/** A folder that was removed meanwhile has no name; main.ts says so. */
function currentFolder(): string | undefined {
  try {
    return process.cwd()
  } catch {
    return undefined
  }
}

/** Words that are about this process, its input or its files; the process that runs the verb looks again, at the parsed line. */
function isUnusual(word: string): boolean {
  return (
    word === '--no-resident' ||
    word === '--trace' ||
    word === '--sample' ||
    /^-[a-zA-Z]*o/.test(word) ||
    word.startsWith('--output') ||
    // Its own input, and its own files.
    word === '-' ||
    word.endsWith('=-') ||
    namesFile(word)
  )
}
