// open-board.ts: the board of the resident process for a verb, or undefined when the verb has to open its own. A process
// that cannot be used is never an error: the command works without it.
import type { Board, BoardBehaviour } from '@plugboard/core'
import { openRemote } from '@plugboard/resident/open-remote'
import { type Invocation, switchedOn } from '../context.ts'
import { timeoutOption } from '../shared/timeouts.ts'
import { starterFor, usesResident } from './find-or-start.ts'
import { definedOnly, placeOf, VERSION } from './process.ts'

export async function openResidentBoard(
  invocation: Invocation,
  prompts: Pick<BoardBehaviour, 'elicit' | 'sample'>,
): Promise<Board | undefined> {
  if (!usesResident(invocation)) return undefined
  const { host, output, cwd } = invocation
  const timeoutMs = timeoutOption(invocation)
  const servers = invocation.givenServers()
  const opened = await openRemote({
    place: placeOf(host),
    version: VERSION,
    params: {
      cwd,
      env: definedOnly(host.env),
      mcpConfig: invocation.options('mcp-config'),
      strict: invocation.flag('strict-mcp-config'),
      approveProject: invocation.flag('approve-project'),
      builtins: switchedOn(invocation.options('builtin')),
      ...(servers && { servers }),
      // The user typed the command: that is consent wherever a rule says `ask`.
      caller: 'user',
      ...(timeoutMs !== undefined && { timeoutMs }),
    },
    prompts,
    start: starterFor(invocation),
  })
  if (opened.kind === 'none') {
    if (output.verbose) output.note(`No resident board is used: ${opened.why}.`)
    return undefined
  }
  invocation.reportFaults(opened.board.configurationFaults())
  return opened.board
}
