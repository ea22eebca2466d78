// slash-commands.ts: what a line that begins with a slash does in the chat.
import { join, resolve } from 'node:path'
import { type Message, type Model, messageTokens } from '@plugboard/agent'
import { readLog } from '@plugboard/core'
import { stateFolder } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import { lazyModule } from '@plugboard/core/lazy'
import type { Invocation } from '../context.ts'
import { diagnosticText, shortPath, table } from '../output.ts'
import { rowsAsText } from '../server-table.ts'
import { connectedText, reconnect } from '../shared/reconnect.ts'
import { rowsOf } from '../shared/snapshot-rows.ts'
import { unmatchedRulesOf } from '../shared/unmatched-rules.ts'
import { fit } from '../terminal/layout.ts'
import { asMarkdown } from './export.ts'
import type { OpenedChat, Session } from './session.ts'
import { SessionStore } from './session-store.ts'
import { costText, percentOf, short } from './status-line.ts'
import type { Transcript } from './transcript.ts'

export interface CommandContext extends OpenedChat {
  readonly invocation: Invocation
  readonly session: Session
  readonly transcript: Transcript
  chooseModel(name: string): Model
  columns(): number
  /** Wrapped at words. */
  print(text: string, paint?: (text: string) => string): void
  /** Rows that are laid out already. */
  printRows(rows: readonly string[]): void
  /** Runs something that needs the keyboard. */
  ask<T>(work: () => Promise<T>): Promise<T>
  /** As if the user had sent it next. */
  send(text: string): void
}

type Command = (
  context: CommandContext,
  words: readonly string[],
  signal: AbortSignal,
) => Promise<void> | void

export const COMMANDS: Readonly<Record<string, string>> = {
  '/help': 'list the commands and keys',
  '/mcp': 'list the servers; /mcp approve|login|reconnect|logs NAME',
  '/tools': 'list the tools and the tokens they take',
  '/permissions': 'list the rules that apply here',
  '/model': 'show the model, or use another: /model NAME',
  '/plan': 'plan mode on or off: only tools that read may run',
  '/context': 'how full the context is, and with what',
  '/cost': 'tokens of this conversation, and their price where it is known',
  '/compact': 'replace the conversation by a summary of it',
  '/resume': 'take up an earlier conversation: /resume [ID]',
  '/fork': 'go on in a copy of this conversation',
  '/export': 'write the conversation to a file: /export [FILE]',
  '/undo': 'take back the last change of a file by a tool; /undo earlier: by an earlier session',
  '/reconnect': 'reconnect a server: /reconnect NAME',
  '/clear': 'clear the conversation',
  '/exit': 'exit (also Ctrl-D)',
}

const MCP_WORDS = ['approve', 'login', 'reconnect', 'logs']
const BOARD_MS = 5000
const TOOLS_SHOWN = 200
const LOG_LINES = 40
const LISTED = 30

const RUN: Readonly<Record<string, Command>> = {
  '/help': help,
  '/mcp': mcp,
  '/tools': tools,
  '/permissions': permissions,
  '/model': useModel,
  '/plan': plan,
  '/context': showContext,
  '/cost': cost,
  '/compact': compact,
  '/resume': resume,
  '/fork': fork,
  '/export': exportTo,
  '/undo': undo,
  '/reconnect': (context, words, signal) => mcp(context, ['reconnect', ...words], signal),
  '/clear': ({ session, print }) => {
    session.forget()
    print('Forgotten.')
  },
}

export async function runCommand(context: CommandContext, line: string, signal: AbortSignal): Promise<void> {
  const [name = '', ...words] = line.trim().split(/\s+/)
  const command = Object.hasOwn(RUN, name) ? RUN[name] : undefined
  if (!command) return context.print(`There is no command ${name}; /help lists the commands.`)
  await command(context, words, signal)
}

/** What may follow a command. */
export function commandWords(command: string, board: CommandContext['board']): readonly string[] {
  const servers = () => board.servers().map(({ name }) => name)
  if (command === '/mcp') return [...MCP_WORDS, ...servers()]
  if (command === '/reconnect') return servers()
  if (command === '/undo') return ['earlier']
  return command === '/plan' ? ['on', 'off'] : []
}

function help({ printRows, columns }: CommandContext): void {
  const rows = [
    ...Object.entries(COMMANDS),
    ['/mcp__server__prompt ARGS', 'a prompt of a server'],
    ['@path, @server:uri', 'a file or a resource, in any sentence'],
    ['!COMMAND', 'run a command; the next message tells the model'],
    ['Shift-Enter, Ctrl-J, \\ Enter', 'a new line'],
    ['Tab, Up, Ctrl-R', 'complete, earlier lines, search them'],
    ['Ctrl-O', 'open the last result, then the one before'],
    ['Esc, Ctrl-C', 'stop what runs; Ctrl-C twice exits'],
  ]
  printRows(table(rows.map(([name = '', what = '']) => [`  ${name}`, fit(what, columns() - 34)])).split('\n'))
}

async function mcp(context: CommandContext, words: readonly string[], signal: AbortSignal): Promise<void> {
  const { board, invocation, print, printRows } = context
  const [what, name] = words
  if (what === undefined) {
    await board.ready({ signal, timeoutMs: BOARD_MS })
    const { color } = invocation.output
    printRows(rowsAsText(rowsOf(board), color, { columns: context.columns() }).split('\n'))
    for (const fault of board.configurationFaults()) printRows(diagnosticText(fault, color).split('\n'))
    return
  }
  if (!MCP_WORDS.includes(what))
    return print(`/mcp knows ${MCP_WORDS.join(', ')}, each with the name of a server.`)
  if (name === undefined && what !== 'approve')
    return print(`Which server? /mcp ${what} NAME; /mcp lists them.`)
  switch (what) {
    case 'approve':
      return await approve(context, name)
    case 'login':
      return await login(context, name ?? '', signal)
    case 'logs':
      return await logs(context, name ?? '')
    default:
      printRows([connectedText(await reconnect(board, name ?? '', signal), invocation.output.color)])
  }
}

/** The verb itself asks: it shows the whole entry before a yes. */
async function approve(context: CommandContext, name: string | undefined): Promise<void> {
  await runVerb(context, 'approve', name === undefined ? [] : [name])
  await context.board.reload()
}

async function login(context: CommandContext, name: string, signal: AbortSignal): Promise<void> {
  await runVerb(context, 'login', [name])
  context.printRows([
    connectedText(await reconnect(context.board, name, signal), context.invocation.output.color),
  ])
}

async function logs({ board, invocation, print }: CommandContext, name: string): Promise<void> {
  if (!board.servers().some((server) => server.name === name))
    throw new InvalidInput(`There is no server "${name}".`, { hint: '/mcp lists them.' })
  const lines = (await readLog(stateFolder(invocation.host), name)).slice(-LOG_LINES)
  if (lines.length === 0) return print(`${name} has written nothing yet.`)
  for (const { at, stream, text } of lines)
    print(`${new Date(at).toISOString().slice(11, 19)} ${stream} ${text}`)
}

/** Runs a verb of the command as if the user had typed it at the shell. */
async function runVerb(context: CommandContext, name: string, words: readonly string[]): Promise<void> {
  const { verbs, loadBoardVerb } = context.invocation
  const verb = await verbs.find((one) => one.name === name)?.load(loadBoardVerb)
  if (verb) await context.ask(() => verb.run(inChat(context, words)))
}

/** The invocation of a verb that the user starts from the chat. */
function inChat({ invocation }: CommandContext, positionals: readonly string[]): Invocation {
  return {
    ...invocation,
    positionals,
    flag: () => false,
    option: (name) => (name === 'cwd' || name === 'timeout' ? invocation.option(name) : undefined),
    options: () => [],
    configuration: (options) => invocation.configuration({ ...options, again: true }),
  }
}

async function tools(
  { board, invocation, columns, print, printRows }: CommandContext,
  _: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  await board.ready({ signal, timeoutMs: BOARD_MS })
  const { bold, dim } = invocation.output.color
  const all = board.tools()
  const { tokens, servers } = board.toolCosts()
  const half = Math.floor(columns() / 2)
  const rows = all
    .slice(0, TOOLS_SHOWN)
    .map((tool) => [`  ${bold(fit(tool.name, half))}`, tool.description.split('\n')[0] ?? ''] as const)
  const widest = Math.min(half, Math.max(0, ...all.map(({ name }) => name.length))) + 4
  printRows(table(rows.map(([name, about]) => [name, dim(fit(about, columns() - widest))])).split('\n'))
  if (all.length > TOOLS_SHOWN) print(`  … and ${all.length - TOOLS_SHOWN} more`)
  const costs = servers.map(({ server, tokens: cost }) => `${server} ${cost}`).join(', ')
  print(`${all.length} tools, about ${tokens} tokens (${costs})`, dim)
}

async function permissions(context: CommandContext): Promise<void> {
  const { invocation, board, print, printRows, columns } = context
  const configuration = await invocation.configuration({ again: true })
  const { rules } = configuration
  if (rules.length === 0)
    return print('No rule: every call that is not marked as read-only by your own server asks.')
  printRows(
    table(rules.map(({ action, rule, file }) => [`  ${action}`, fit(rule, 50), shortPath(file)]))
      .split('\n')
      .map((row) => fit(row, columns())),
  )
  print('deny beats ask beats allow; `plugboard explain SERVER` says which count for a server.')
  for (const { diagnostic } of unmatchedRulesOf(board, configuration))
    print(`! ${diagnostic.message}. ${diagnostic.hint}`, invocation.output.color.yellow)
}

function useModel({ session, chooseModel, print }: CommandContext, [name]: readonly string[]): void {
  if (name !== undefined) session.useModel(chooseModel(name))
  print(`The model is ${session.model.id} (${short(session.model.contextTokens)} tokens of context).`)
}

function plan({ session, print }: CommandContext, [wanted]: readonly string[]): void {
  if (!session.plan) {
    print('There is no plan mode here.')
    return
  }
  if (wanted !== undefined && wanted !== 'on' && wanted !== 'off') {
    print('/plan takes on or off.')
    return
  }
  session.plan.set(wanted === undefined ? !session.plan.isOn : wanted === 'on')
  print(
    session.plan.isOn
      ? 'Plan mode is on: only tools that read may run until you approve a plan. /plan off ends it.'
      : 'Plan mode is off.',
  )
}

function showContext({ session, board, print }: CommandContext): void {
  const sum = (role: Message['role']) =>
    session.messages.reduce(
      (total, message) => total + (message.role === role ? messageTokens(message) : 0),
      0,
    )
  const { tokens } = board.toolCosts()
  print(
    `${percentOf(session)} % of ${short(session.model.contextTokens)} tokens (${short(session.contextTokens)} used)`,
  )
  print(`  your messages   about ${short(sum('user'))}`)
  print(`  answers         about ${short(sum('assistant'))}`)
  print(`  tool results    about ${short(sum('results'))}`)
  print(`  tools           about ${short(tokens)}, when all of them are sent`)
  print('At 80 % the older part becomes a summary by itself; /compact does it now.')
}

function cost({ session, print }: CommandContext): void {
  const { usage, price, model } = session
  print(`${usage.inputTokens} tokens in, ${usage.outputTokens} tokens out`)
  print(
    price
      ? `${costText(usage, price)} at $${price.input} and $${price.output} for a million`
      : `No price is set for ${model.id}: add it under "models" in ~/.plugboard/settings.json.`,
  )
}

async function compact(
  { session, print }: CommandContext,
  _: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  const before = session.contextTokens
  print('Writing a summary…')
  const done = await session.compact(signal)
  print(
    done
      ? `About ${short(before)} tokens became ${short(session.contextTokens)}.`
      : 'There is nothing to summarise yet.',
  )
}

async function undo(
  { transcript, board, print }: CommandContext,
  [word]: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  if (word !== undefined && word !== 'earlier') return print('/undo takes nothing, or earlier.')
  const inJournal = async (earlier: boolean) => {
    // The user typed it: that is consent.
    const { content } = await board.call('workspace.undo_edit', { earlier }, { caller: 'user', signal })
    return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n')
  }
  print(word === 'earlier' ? await inJournal(true) : await transcript.edits.undo(() => inJournal(false)))
}

async function resume(context: CommandContext, [given]: readonly string[]): Promise<void> {
  const { session, print, invocation, configuration } = context
  const store = new SessionStore(stateFolder(invocation.host))
  const id = given ?? (await context.ask(() => chooseChat(store, configuration.place.root)))
  if (id === undefined) return print('Nothing was chosen.')
  if (id === session.id) return print(`This is ${id} already.`)
  const { chat, file } = await store.takeUp(id)
  if (!session.saves) await file?.close()
  await session.takeUp(chat, session.saves ? file : undefined)
  print(`Took up ${chat.id}: ${chat.messages.length} messages.`)
  if (file || !session.saves) return
  const copy = store.create({ root: configuration.place.root, model: session.model.id, forkOf: chat.id })
  await session.continueIn(copy)
  print(`${chat.id} is open in another chat, so this one goes on in a copy: ${copy.id}.`)
}

/** A list for the arrow keys; undefined when the user leaves it. */
export async function chooseChat(store: SessionStore, root: string): Promise<string | undefined> {
  const { pick, PromptAborted } = await import('../terminal/keys.ts')
  const chats = store.list(root).slice(0, LISTED)
  if (chats.length === 0) throw new InvalidInput('There is no earlier conversation in this folder.')
  const labels = chats.map(
    ({ title, changed }) => `${changed.toISOString().slice(0, 16).replace('T', ' ')}  ${title}`,
  )
  try {
    const [at = 0] = await pick(labels, { start: [0], several: false })
    return chats[at]?.id
  } catch (error) {
    if (error instanceof PromptAborted) return undefined
    throw error
  }
}

async function fork({ session, invocation, configuration, print }: CommandContext): Promise<void> {
  if (!session.saves)
    return print('This conversation is not saved (--no-save), so there is no copy to go on in.')
  const store = new SessionStore(stateFolder(invocation.host))
  const { id } = session
  const file = store.create({
    root: configuration.place.root,
    model: session.model.id,
    ...(id !== undefined && { forkOf: id }),
  })
  await session.continueIn(file)
  print(`This is ${file.id} now${id === undefined ? '' : `; ${id} stays as it is`}.`)
}

function exportTo({ session, invocation, print }: CommandContext, words: readonly string[]): void {
  const name = words.join(' ') || `chat-${session.id ?? 'export'}.md`
  const path = resolve(
    invocation.cwd,
    name.startsWith('~/') ? join(process.env['HOME'] ?? '', name.slice(2)) : name,
  )
  try {
    lazyModule('node:fs').writeFileSync(path, asMarkdown(session.messages, session.model.id), {
      flag: 'wx',
      mode: 0o600,
    })
  } catch (error) {
    throw new InvalidInput(
      `The conversation cannot be written to ${shortPath(path)}: ${(error as Error).message}.`,
      {
        hint: 'An existing file is not overwritten: /export OTHER-NAME.md',
      },
    )
  }
  print(`Wrote ${shortPath(path)}.`)
}
