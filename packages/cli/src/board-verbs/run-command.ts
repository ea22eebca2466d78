// run-command.ts: runs the verb of a command in the resident process, for a command without a terminal. Its output and exit
// code are those that it would have had in a process of its own.
import { InvalidInput } from '@plugboard/core/errors'
import type { Command, CommandSite, RunCommand } from '@plugboard/resident'
import { parseCommandLine } from '../args.ts'
import { namesFile } from '../file-arguments.ts'
import { main } from '../main.ts'
import { isAdHoc } from '../shared/call-target.ts'
import { isTerminal, shownOn } from '../streams.ts'
import type { LoadBoardVerb, VerbHost } from '../verb-spec.ts'

const LOADERS: Readonly<Record<string, () => Promise<unknown>>> = {
  call: () => import('./call.ts'),
  list: () => import('./list.ts'),
  prompt: () => import('./prompt.ts'),
  prompts: () => import('./prompts.ts'),
  read: () => import('./read.ts'),
  resources: () => import('./resources.ts'),
  skills: () => import('./skills.ts'),
  tools: () => import('./tools.ts'),
}

/** The table above says which module each name stands for. */
const loadVerb = (async (name: string) => await LOADERS[name]?.()) as LoadBoardVerb

export const runCommand: RunCommand = async (command, site) => {
  const refused = refusal(command)
  if (refused !== undefined) return { refused }
  const switchedOff = { found: false }
  const runsIn = verbHost(command, site, switchedOff)
  const exit = await main(command.argv, loadVerb, { runsIn })
  return switchedOff.found ? { refused: 'the settings say "resident": false' } : { exit }
}

function refusal({ argv, host }: Command): string | undefined {
  // A process in the foreground of a terminal would take it for the command's.
  if (isTerminal(0) || isTerminal(1) || isTerminal(2)) return 'it has a terminal of its own'
  if (host.home !== process.env['HOME']) return 'it has another home folder'
  try {
    const { verb, positionals, rest, values } = parseCommandLine(argv)
    if (verb === undefined || !Object.hasOwn(LOADERS, verb.name)) return 'it does not run this verb'
    const words = [...positionals, ...rest]
    const [first = ''] = words
    // Such a server is started by the command itself, which the user can see.
    if (isAdHoc(first)) return 'the server is in no file'
    const isOwn = values['output'] !== undefined || values['args'] === '-' || words.some(namesFile)
    return isOwn ? 'it uses files or the input of the command' : undefined
  } catch {
    return 'the command line is wrong'
  }
}

function verbHost({ cwd, host }: Command, site: CommandSite, switchedOff: { found: boolean }): VerbHost {
  return {
    host,
    cwd,
    signal: site.signal,
    write: (fd, text) => {
      if (!switchedOff.found) site.write(fd, shownOn(fd, text))
    },
    load: async (options) => {
      const configuration = await site.load(options)
      if (configuration.resident.enabled !== false) return configuration
      switchedOff.found = true
      throw new InvalidInput('The settings say "resident": false.')
    },
    open: (configuration, behaviour) => site.open(configuration, behaviour),
    release: (board) => site.release(board),
    calling: (call) => site.calling(call),
  }
}
