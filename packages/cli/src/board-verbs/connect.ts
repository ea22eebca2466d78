// connect: the resident board for another MCP client, over stdio. The servers behind it are shared with every terminal. Where
// no resident board can be used, it serves the client itself, as `serve` does.
import { InvalidInput } from '@plugboard/core/errors'
import { connectStdio } from '@plugboard/resident/connect'
import { type Invocation, switchedOn, words } from '../context.ts'
import { EXIT } from '../output.ts'
import { CONNECT_PARAMS, lostBoard } from '../resident/connect-params.ts'
import { starterFor, usesResident } from '../resident/find-or-start.ts'
import { definedOnly, placeOf, VERSION } from '../resident/process.ts'
import { timeoutOption } from '../shared/timeouts.ts'
import { isTerminal } from '../streams.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const { host, cwd, output } = invocation
  if (host.env['PLUGBOARD_CHILD'])
    throw new InvalidInput(
      'This `plugboard connect` was started by a board, so the board would serve itself in an endless loop.',
      { hint: 'Switch it off in that board: `plugboard disable NAME`.' },
    )
  // A client's pipe carries the protocol as it is; a terminal would obey what a server wrote into it.
  if (isTerminal(1))
    throw new InvalidInput(
      '`plugboard connect` speaks MCP with the client that starts it, not with a user.',
      {
        hint: 'Put it into a client: `plugboard adopt CLIENT`, or `claude mcp add board -- plugboard connect`.',
      },
    )
  const serve = async () => await (await invocation.loadBoardVerb('serve')).run(invocation)
  if (!usesResident(invocation)) return await serve()
  const timeoutMs = timeoutOption(invocation)
  const how = await connectStdio({
    place: placeOf(host),
    version: VERSION,
    params: {
      ...CONNECT_PARAMS,
      cwd,
      env: definedOnly(host.env),
      mcpConfig: invocation.options('mcp-config'),
      strict: invocation.flag('strict-mcp-config'),
      approveProject: invocation.flag('approve-project'),
      builtins: switchedOn(invocation.options('builtin')),
      // The parser has checked the choices.
      confirms: (invocation.option('ask') ?? CONNECT_PARAMS.confirms) as 'client' | 'elicit' | 'deny',
      ...(timeoutMs !== undefined && { timeoutMs }),
    },
    output: process.stdout,
    start: starterFor(invocation),
  })
  if (how.kind === 'ended') return EXIT.done
  if (how.kind === 'lost') throw lostBoard(how.why)
  if (output.verbose) output.note(`No resident board is used: ${how.why}.`)
  return await serve()
}
