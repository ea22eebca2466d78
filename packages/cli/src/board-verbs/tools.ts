// tools: the tools of every server, by the names that models and `call` use.
import type { Board, Tool } from '@plugboard/core'
import { nearest } from '@plugboard/core/text/nearest'
import type { Colors } from '../colors.ts'
import { type Invocation, words } from '../context.ts'
import { EXIT, table } from '../output.ts'
import { isAdHoc, onlyToolNamed } from '../shared/call-target.ts'
import { allServers } from '../shared/missing-servers.ts'
import { oneLine } from '../shared/one-line.ts'
import { signatureOf } from '../shared/signature.ts'
import { connectTimeout } from '../shared/timeouts.ts'
import { toolView } from '../shared/tool-reference.ts'
import { userPromptOptions } from '../terminal/terminal-prompts.ts'
import { type OpenedBoard, withBoard } from '../with-board.ts'
import { textColumns } from '../wrap.ts'
import { addAdHocServer } from './ad-hoc-server.ts'

export async function run(invocation: Invocation): Promise<number> {
  const given = words(invocation, ['SERVER', 'TOOL'], 2)
  const [first] = given
  const adHoc = first !== undefined && isAdHoc(first) ? await addAdHocServer(invocation, first) : undefined
  return withBoard(
    invocation,
    async (opened) => {
      const names = opened.board.servers().map(({ name }) => name)
      const asked = askedFor(given, names, adHoc)
      const { server, tool } = asked
      if (tool !== undefined) return showOne(invocation, opened, asked)
      await list(invocation, opened, server)
      if (invocation.flag('changes') || invocation.flag('accept'))
        return reviewChanges(invocation, opened, server)
      if (invocation.flag('cost')) return showCosts(invocation, opened.board, server)
      const query = invocation.option('search')
      return query === undefined
        ? showTools(invocation, opened.board, server)
        : showFound(invocation, opened.board, query, server)
    },
    userPromptOptions(invocation),
  )
}

/** `server.tool` as its two parts; `mcp__server__tool` is a name that two servers could share. */
function splitName(name: string, servers: readonly string[]): Asked {
  const [server] = servers.filter((one) => name.startsWith(`${one}.`)).sort((a, b) => b.length - a.length)
  return server === undefined ? { tool: name } : { server, tool: name.slice(server.length + 1) }
}

interface Asked {
  readonly server?: string | undefined
  readonly tool?: string
  /** The name of a tool alone, without its server. */
  readonly bare?: boolean
}

/** All tools, those of one server, or one tool: `server.tool`, `server tool` or a bare name. */
function askedFor(
  [first, second]: readonly string[],
  servers: readonly string[],
  adHoc: string | undefined,
): Asked {
  if (first === undefined) return {}
  const isTool = first.startsWith('mcp__') || servers.some((server) => first.startsWith(`${server}.`))
  if (isTool && second === undefined) return splitName(first, servers)
  if (adHoc !== undefined) return { server: adHoc, ...(second !== undefined && { tool: second }) }
  if (second !== undefined) return { server: first, tool: second }
  // A word that is close to a server's name is more likely a slip than a tool.
  if (servers.includes(first) || first.includes('.') || nearest(first, servers) !== undefined)
    return { server: first }
  return { tool: first, bare: true }
}

async function showOne(
  invocation: Invocation,
  opened: OpenedBoard,
  { server, tool: name = '', bare = false }: Asked,
): Promise<number> {
  const { output } = invocation
  const { board, signal } = opened
  if (bare) await allServers(invocation, opened, 'unlisted')
  // A server that does not exist is the error, not a tool of it.
  if (server !== undefined) await listServer(invocation, opened, server)
  const known = board
    .tools()
    .find(({ mcpInfo }) => mcpInfo.serverName === server && mcpInfo.toolName === name)
  const tool = bare
    ? onlyToolNamed(board, name)
    : (known ?? (await board.tool(server === undefined ? name : `${server}.${name}`, { signal })))
  output.result({ tools: [toolRow(tool)] }, () => {
    const { bold } = output.color
    const head = [bold(spelling(tool)), marks(tool, output.color), titleOf(tool)].filter(Boolean).join('  ')
    return toolView(tool, head, textColumns(), output.color)
  })
  return EXIT.done
}

/** A server that is named must list its tools; of all of them, those that do are shown. */
async function list(invocation: Invocation, opened: OpenedBoard, server: string | undefined) {
  // What has changed, only the server knows.
  const isAsked = invocation.flag('changes') || invocation.flag('accept')
  if (server === undefined) await allServers(invocation, opened, isAsked ? 'all' : 'unlisted')
  else if (isAsked) await opened.board.toolsOf(server, { signal: opened.signal })
  else await listServer(invocation, opened, server)
}

/** Without starting it, where the catalog knows its tools. */
async function listServer(invocation: Invocation, { board, signal }: OpenedBoard, server: string) {
  await board.ready({ signal, timeoutMs: await connectTimeout(invocation), start: 'unlisted', server })
  const found = board.servers().find(({ name }) => name === server)
  const isListed = found?.state === 'pending' && found.listedBy !== undefined
  // Rejects with the reason when it cannot be connected.
  if (!isListed) await board.toolsOf(server, { signal })
}

function toolsOf(board: Board, server: string | undefined): readonly Tool[] {
  const tools = board.tools()
  return server === undefined ? tools : tools.filter(({ mcpInfo }) => mcpInfo.serverName === server)
}

/** One tool as scripts see it. Fields may be added, never renamed. */
function toolRow(tool: Tool) {
  const { serverName, toolName } = tool.mcpInfo
  const title = tool.userFacingName()
  return {
    name: tool.name,
    server: serverName,
    tool: toolName,
    ...(title !== toolName && { title }),
    description: tool.description,
    inputSchema: tool.inputJsonSchema,
    ...(tool.outputJsonSchema !== undefined && { outputSchema: tool.outputJsonSchema }),
    readOnly: tool.isReadOnly(),
    destructive: tool.isDestructive(),
    idempotent: tool.isIdempotent(),
    openWorld: tool.isOpenWorld(),
    ...(!tool.available && { available: false }),
    ...(tool.warnings.length > 0 && { warnings: tool.warnings }),
  }
}

function showTools(invocation: Invocation, board: Board, server: string | undefined): number {
  const { output } = invocation
  const tools = toolsOf(board, server)
  output.result({ tools: tools.map(toolRow) }, () =>
    server === undefined ? brief(tools, output.color) : inFull(tools, output.color),
  )
  if (tools.length === 0 && !output.json) output.note('No tools.')
  return EXIT.done
}

/** A tool that fits much less than the best one shares only a common word with the query. */
const WEAK_SHARE = 0.4

function showFound(invocation: Invocation, board: Board, query: string, server: string | undefined): number {
  const { output } = invocation
  const found = board
    .searchTools(query, 20)
    .filter(({ tool }) => server === undefined || tool.mcpInfo.serverName === server)
  const floor = (found[0]?.score ?? 0) * (output.verbose ? 0 : WEAK_SHARE)
  const good = found.filter(({ score }) => score >= floor)
  output.result({ tools: found.map(({ tool, score }) => ({ ...toolRow(tool), score })) }, () =>
    inFull(
      good.map(({ tool }) => tool),
      output.color,
    ),
  )
  const weak = found.length - good.length
  if (weak > 0 && !output.json)
    output.note(`${weak} weaker ${weak === 1 ? 'match' : 'matches'} not shown (-v).`)
  if (found.length === 0 && !output.json) output.note('No tool matches; try other words.')
  return EXIT.done
}

function spelling(tool: Tool): string {
  return oneLine(`${tool.mcpInfo.serverName}.${tool.mcpInfo.toolName}`, 120)
}

function marks(tool: Tool, { green, red, dim }: Colors): string {
  const said = tool.isReadOnly() ? green('reads') : tool.isDestructive() ? red('may destroy') : 'writes'
  return tool.available ? said : `${said} ${dim('(not connected)')}`
}

function brief(tools: readonly Tool[], color: Colors): string {
  return table(
    tools.map((tool) => [
      color.bold(spelling(tool)),
      marks(tool, color),
      titleOf(tool),
      color.dim(oneLine(tool.description, 90)),
    ]),
  )
}

function titleOf(tool: Tool): string {
  const title = tool.userFacingName()
  return title === tool.mcpInfo.toolName ? '' : oneLine(title, 40)
}

function inFull(tools: readonly Tool[], color: Colors): string {
  return tools
    .map((tool) => {
      const takes = signatureOf(tool.inputJsonSchema)
      return [
        [color.bold(spelling(tool)), marks(tool, color), titleOf(tool)].filter(Boolean).join('  '),
        `  ${color.dim(oneLine(tool.description, 300))}`,
        takes === '' ? `  ${color.dim('no arguments')}` : `  ${takes}`,
      ].join('\n')
    })
    .join('\n\n')
}

function showCosts(invocation: Invocation, board: Board, server: string | undefined): number {
  const { output } = invocation
  const all = board.toolCosts()
  const servers = all.servers.filter((line) => server === undefined || line.server === server)
  const ledger = {
    servers,
    tools: servers.reduce((sum, { tools }) => sum + tools, 0),
    tokens: servers.reduce((sum, { tokens }) => sum + tokens, 0),
  }
  const offer = board.toolsFor()
  output.result(
    { ...ledger, loading: offer.kind, ...(offer.kind === 'search' && { why: offer.why }) },
    () => {
      const { bold, dim } = output.color
      const rows = servers.map((line) => [
        bold(line.server),
        String(line.tools),
        `~${line.tokens}`,
        dim(`${oneLine(line.largest.name, 70)} (~${line.largest.tokens})`),
      ])
      const total = [bold('all'), String(ledger.tools), `~${ledger.tokens}`, '']
      return table([['SERVER', 'TOOLS', 'TOKENS', 'LARGEST'].map((title) => dim(title)), ...rows, total])
    },
  )
  if (!output.json)
    output.note(
      offer.kind === 'search'
        ? `A model gets a search tool instead of all definitions: ${offer.why}.`
        : 'A model gets all definitions.',
    )
  return EXIT.done
}

/** How definitions differ from the accepted ones; using a tool accepts its definition. */
async function reviewChanges(
  invocation: Invocation,
  { board, signal }: OpenedBoard,
  only: string | undefined,
): Promise<number> {
  const { output } = invocation
  const servers =
    only === undefined ? board.servers().filter(({ state }) => state === 'connected') : [{ name: only }]
  const changes = await Promise.all(
    servers.map(async ({ name }) => ({ server: name, changes: await board.changedTools(name, { signal }) })),
  )
  const shown = changes.filter((one) => one.changes.length > 0)
  output.result({ servers: shown }, () =>
    shown
      .flatMap(({ server, changes: list }) =>
        list.flatMap((change) => [
          `${output.color.bold(`${server}.${oneLine(change.tool, 80)}`)} ${change.kind}`,
          ...(change.kind === 'changed' ? change.lines.map((line) => `  ${paint(line, output.color)}`) : []),
        ]),
      )
      .join('\n'),
  )
  if (shown.length === 0 && !output.json) output.note('No tool has changed since you last used it.')
  if (!invocation.flag('accept')) return EXIT.done
  for (const { server } of shown) await board.acceptTools(server)
  if (shown.length > 0) output.note(`Accepted: ${shown.map(({ server }) => server).join(', ')}.`)
  return EXIT.done
}

function paint(line: string, { green, red }: Colors): string {
  const text = oneLine(line, 400)
  if (line.startsWith('+')) return green(text)
  return line.startsWith('-') ? red(text) : text
}
