// open-chat.ts: what a conversation needs before it starts: the model, the earlier conversation, accepted instructions, rules.
// The verb loads it after the prompt is shown.
import { resolve } from 'node:path'
import {
  type Api,
  chooseModel,
  type Model,
  type UserInterface,
  UserPrompts,
  userMessage,
} from '@plugboard/agent'
import type { BoardOptions } from '@plugboard/core'
import { type Configuration, stateFolder } from '@plugboard/core/config'
import { InvalidInput } from '@plugboard/core/errors'
import { lazyModule } from '@plugboard/core/lazy'
import { parseRule } from '@plugboard/core/permissions'
import type { Invocation } from '../context.ts'
import { isTerminal } from '../streams.ts'
import { asksAboutFolder, configurationToStart, withLocalBoard } from '../with-board.ts'
import {
  decideInstructions,
  findInstructions,
  type InstructionFile,
  instructionText,
} from './instructions.ts'
import type { PlanReview } from './plan-mode.ts'
import type { Screen } from './screen.ts'
import { ServerNotices } from './server-notices.ts'
import { type OpenedChat, Session } from './session.ts'
import { messagesOfRecording, type SessionFile, SessionStore, type StoredChat } from './session-store.ts'
import type { Price } from './status-line.ts'

/** How long one question waits for servers that are starting. */
const WAIT_MS = 5000
const MOST_BYTES = 256 * 1024 * 1024

/** A conversation at a terminal, whose prompt is shown already. */
export async function talk(
  invocation: Invocation,
  screen: Screen,
  question: string | undefined,
): Promise<number> {
  const [{ runApp }, configuration] = await Promise.all([
    import('./app.ts'),
    trustedConfiguration(invocation, screen),
  ])
  const model = chosenModel(invocation, configuration.models)
  const chooses = invocation.option('resume') === ''
  const earlier = () => earlierChat(invocation, configuration)
  const before = await (chooses ? screen.suspend(earlier) : earlier())
  const instructions = await acceptedInstructions(invocation, configuration, screen)
  const rules = await allowed(invocation)
  return await runApp({
    screen,
    configuration,
    invocation,
    model,
    chooseModel: (name) => chosenModel(invocation, configuration.models, name),
    rules,
    question,
    notes: [
      ...instructions.map(
        ({ name, origin, text }) => `Instructions: ${name} (${origin}, ${text.split('\n').length} lines)`,
      ),
      ...(before
        ? [
            `Continues ${before.chat.id ?? 'a recording'}: ${before.chat.messages.length} messages.`,
            ...copyNote(before),
          ]
        : []),
    ],
    session: (opened, userPrompts, review) =>
      sessionOf(invocation, model, opened, userPrompts, { before, instructions, review }),
  })
}

/** The screen is given away only where there is a question. */
async function trustedConfiguration(invocation: Invocation, screen: Screen): Promise<Configuration> {
  const configuration = await invocation.configuration()
  if (!asksAboutFolder(configuration, invocation.output)) return configuration
  return await screen.suspend(() => configurationToStart(invocation))
}

/** One question and its answer. */
export async function answer(invocation: Invocation, prompt: string): Promise<number> {
  const { models } = await invocation.configuration()
  const model = chosenModel(invocation, models)
  const { printRun } = await import('./print.ts')
  const user = await userFor(invocation)
  const userPrompts = new UserPrompts(user)
  return await withLocalBoard(
    invocation,
    async (opened) => {
      const { output } = invocation
      const troubles = new ServerNotices(opened.board)
      const tell = () => {
        const trouble = troubles.next()
        if (trouble !== undefined && !output.json) output.note(output.errorColor.yellow(`! ${trouble}`))
      }
      tell()
      const before = await earlierChat(invocation, opened.configuration)
      if (before) for (const note of copyNote(before)) output.note(output.errorColor.dim(note))
      const { used, undecided } = findInstructions(invocation.host, opened.configuration.place.root)
      if (undecided.length > 0 && !output.json)
        output.note(
          output.errorColor.dim(
            `${undecided.map(({ name }) => name).join(' and ')} of this project is not used: \`plugboard chat\` asks about it once.`,
          ),
        )
      const waitMs = waitOption(invocation)
      const session = sessionOf(invocation, model, opened, userPrompts, {
        before,
        instructions: used,
        waitMs,
      })
      const code = await printRun(session.say([userMessage(prompt)], opened.signal), output)
      await session.close()
      // Servers that failed meanwhile are known by now.
      tell()
      return code
    },
    { ...userPrompts.ports(model), ...(await allowed(invocation)), showsWaits: false },
  )
}

export async function playBack(invocation: Invocation, path: string): Promise<number> {
  const [{ replayRecording }, { printRun }] = await Promise.all([import('./replay.ts'), import('./print.ts')])
  return await printRun(
    replayRecording(path, invocation.host, new AbortController().signal),
    invocation.output,
  )
}

function chosenModel(
  invocation: Invocation,
  models: Configuration['models'],
  name = invocation.option('model'),
): Model {
  const model = chooseModel({
    host: invocation.host,
    model: name,
    baseUrl: invocation.option('base-url'),
    // The parser has checked the choices.
    api: invocation.option('api') as Api | undefined,
  })
  const { contextTokens } = settingsOf(models, model.id)
  return contextTokens === undefined ? model : { ...model, contextTokens }
}

function settingsOf(models: Configuration['models'], name: string) {
  return Object.hasOwn(models, name) ? (models[name] ?? {}) : {}
}

/** Only where both are known. */
function priceOf(models: Configuration['models'], name: string): Price | undefined {
  const { inputPrice, outputPrice } = settingsOf(models, name)
  if (inputPrice === undefined || outputPrice === undefined) return undefined
  return { input: inputPrice, output: outputPrice }
}

/** Two chats in one file would mix two conversations. */
function copyNote({ chat: { id }, file }: Earlier): readonly string[] {
  return id === undefined || file ? [] : [`${id} is open in another chat, so this one goes on in a copy.`]
}

interface Earlier {
  readonly chat: Pick<StoredChat, 'messages' | 'usage'> & { readonly id?: string }
  /** Where it goes on; a recording, and what another chat has open, goes on in a file of its own. */
  readonly file?: SessionFile
}

/** `--continue`: the last conversation in this folder. `--resume`: the one that is named or chosen. */
async function earlierChat(invocation: Invocation, { place }: Configuration): Promise<Earlier | undefined> {
  const store = new SessionStore(stateFolder(invocation.host))
  const named = invocation.option('resume')
  if (named !== undefined && invocation.flag('continue'))
    throw new InvalidInput('--continue and --resume exclude each other.')
  if (invocation.flag('continue')) {
    const [last] = store.list(place.root)
    if (!last)
      throw new InvalidInput('There is no earlier conversation in this folder.', {
        hint: 'Leave out --continue; `plugboard chat --resume` lists those of this folder.',
      })
    return await store.takeUp(last.id)
  }
  if (named === undefined) return undefined
  const recording = named === '' ? undefined : recordingAt(resolve(invocation.cwd, named))
  if (recording !== undefined)
    return { chat: { messages: messagesOfRecording(recording), usage: { inputTokens: 0, outputTokens: 0 } } }
  const id = named === '' ? await chosen(store, place.root) : named
  return await store.takeUp(id)
}

async function chosen(store: SessionStore, root: string): Promise<string> {
  if (!isTerminal(0) || !isTerminal(2))
    throw new InvalidInput('--resume needs the ID of a conversation here.', {
      hint: 'At a terminal it shows a list; --continue takes the last one of this folder.',
    })
  const { chooseChat } = await import('./slash-commands.ts')
  const id = await chooseChat(store, root)
  if (id === undefined) throw new InvalidInput('No conversation was chosen.')
  return id
}

/** The text of a file of that name, if there is one. */
function recordingAt(path: string): string | undefined {
  const fs = lazyModule('node:fs')
  const stat = fs.statSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile()) return undefined
  if (stat.size > MOST_BYTES) throw new InvalidInput(`${path} is too large to be a recording.`)
  return fs.readFileSync(path, 'utf8')
}

async function acceptedInstructions(
  { host, output }: Invocation,
  { place }: Configuration,
  screen: Screen,
): Promise<readonly InstructionFile[]> {
  const { used, undecided } = findInstructions(host, place.root)
  if (undecided.length === 0) return used
  const { terminalAsker } = await import('../terminal/confirm.ts')
  const accepted: InstructionFile[] = [...used]
  for (const file of undecided)
    if (await screen.suspend(() => decideInstructions(file, host, terminalAsker(output.color))))
      accepted.push(file)
  return accepted
}

interface SessionParts {
  readonly before: Earlier | undefined
  readonly instructions: readonly InstructionFile[]
  readonly review?: PlanReview
  readonly waitMs?: number
}

function sessionOf(
  invocation: Invocation,
  model: Model,
  { board, configuration }: OpenedChat,
  userPrompts: UserPrompts,
  { before, instructions, review, waitMs }: SessionParts,
): Session {
  const maxTurns = maxTurnsOf(invocation)
  const record = invocation.option('record')
  const { root } = configuration.place
  const store = new SessionStore(stateFolder(invocation.host))
  const forkOf = before?.chat.id
  const head = { root, model: model.id, ...(forkOf !== undefined && { forkOf }) }
  const file = invocation.flag('no-save') ? undefined : (before?.file ?? store.create(head))
  return new Session({
    board,
    model,
    userPrompts,
    host: invocation.host,
    cwd: root,
    before: before?.chat,
    file,
    isCopy: before !== undefined && before.file === undefined,
    instructions: instructionText(instructions),
    reviewPlan: review,
    priceOf: (name) => priceOf(configuration.models, name),
    ...(waitMs !== undefined && { waitMs }),
    ...(maxTurns !== undefined && { maxTurns }),
    ...(record !== undefined && { record: resolve(invocation.cwd, record) }),
  })
}

/** With a terminal there is a user to ask, also when the answer goes into a pipe. */
async function userFor(invocation: Invocation): Promise<UserInterface> {
  if (invocation.output.json || !isTerminal(0) || !isTerminal(2)) return {}
  const { userAtTerminal } = await import('./chat-prompts.ts')
  return userAtTerminal({ host: invocation.host, color: invocation.output.errorColor })
}

/** `--allow` adds to the rules of the settings, for this run. */
async function allowed(invocation: Invocation): Promise<Pick<BoardOptions, 'rules'>> {
  const allow = invocation.options('allow')
  if (allow.length === 0) return {}
  for (const rule of allow) {
    const read = parseRule(rule, 'allow')
    if (!read.ok)
      throw new InvalidInput(`--allow ${JSON.stringify(rule)} ${read.problem}.`, { hint: read.hint })
  }
  return {
    rules: allow.map((rule) => ({
      action: 'allow' as const,
      rule,
      scope: 'dynamic' as const,
      file: '--allow',
    })),
  }
}

function waitOption(invocation: Invocation): number {
  const text = invocation.option('wait')
  if (text === undefined) return WAIT_MS
  if (!/^\d{1,7}$/.test(text)) throw new InvalidInput(`--wait "${text}" is not a number of milliseconds.`)
  return Number(text)
}

function maxTurnsOf(invocation: Invocation): number | undefined {
  const text = invocation.option('max-turns')
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidInput(`--max-turns "${text}" is not a number of turns.`)
  return Number(text)
}
