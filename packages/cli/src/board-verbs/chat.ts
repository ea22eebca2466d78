// chat: a conversation with a model that has every tool of the board: at a terminal, or one question and one answer with -p.
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
import { InvalidInput } from '@plugboard/core/errors'
import { parseRule } from '@plugboard/core/permissions'
import { ServerNotices } from '../chat/server-notices.ts'
import { Session } from '../chat/session.ts'
import { type Invocation, words } from '../context.ts'
import { isTerminal } from '../streams.ts'
import { type OpenedLocalBoard, withLocalBoard } from '../with-board.ts'

export async function run(invocation: Invocation): Promise<number> {
  words(invocation, [])
  const replayed = invocation.option('replay')
  if (replayed !== undefined) return await playBack(invocation, resolve(invocation.cwd, replayed))
  const prompt = await promptOf(invocation)
  if (prompt === undefined && (!isTerminal(0) || !isTerminal(1)))
    throw new InvalidInput('`plugboard chat` needs a terminal.', {
      hint: 'Ask one question with `plugboard chat -p "…"`; `-p -` reads it from stdin.',
    })
  const model = chosenModel(invocation)
  if (prompt === undefined) {
    const { runRepl } = await import('../chat/repl.ts')
    return await runRepl({
      invocation,
      model,
      rules: await allowed(invocation),
      session: (opened, userPrompts) => sessionOf(invocation, model, opened, userPrompts),
    })
  }
  const { printRun } = await import('../chat/print.ts')
  const user = await userFor(invocation)
  const userPrompts = new UserPrompts(user)
  return await withLocalBoard(
    invocation,
    async (opened) => {
      const troubles = new ServerNotices(opened.board)
      const tell = () => {
        const trouble = troubles.next()
        if (trouble !== undefined && !invocation.output.json)
          invocation.output.note(invocation.output.errorColor.yellow(`! ${trouble}`))
      }
      tell()
      const session = sessionOf(invocation, model, opened, userPrompts)
      const code = await printRun(session.say([userMessage(prompt)], opened.signal), invocation.output)
      // Servers that failed meanwhile are known by now.
      tell()
      return code
    },
    { ...userPrompts.ports(model), ...(await allowed(invocation)) },
  )
}

async function playBack(invocation: Invocation, path: string): Promise<number> {
  const [{ replayRecording }, { printRun }] = await Promise.all([
    import('../chat/replay.ts'),
    import('../chat/print.ts'),
  ])
  return await printRun(
    replayRecording(path, invocation.host, new AbortController().signal),
    invocation.output,
  )
}

function chosenModel(invocation: Invocation): Model {
  return chooseModel({
    host: invocation.host,
    model: invocation.option('model'),
    baseUrl: invocation.option('base-url'),
    // The parser has checked the choices.
    api: invocation.option('api') as Api | undefined,
  })
}

function sessionOf(
  invocation: Invocation,
  model: Model,
  { board, configuration }: OpenedLocalBoard,
  userPrompts: UserPrompts,
): Session {
  const maxTurns = maxTurnsOf(invocation)
  const record = invocation.option('record')
  return new Session({
    board,
    model,
    userPrompts,
    host: invocation.host,
    cwd: configuration.place.root,
    ...(maxTurns !== undefined && { maxTurns }),
    ...(record !== undefined && { record: resolve(invocation.cwd, record) }),
  })
}

/** With a terminal there is a user to ask, also when the answer goes into a pipe. */
async function userFor(invocation: Invocation): Promise<UserInterface> {
  if (invocation.output.json || !isTerminal(0) || !isTerminal(2)) return {}
  const { userAtTerminal } = await import('../chat/user-prompts.ts')
  return userAtTerminal(invocation.output)
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
  const { rules } = await invocation.configuration()
  return {
    rules: [
      ...rules,
      ...allow.map((rule) => ({
        action: 'allow' as const,
        rule,
        scope: 'dynamic' as const,
        file: '--allow',
      })),
    ],
  }
}

async function promptOf(invocation: Invocation): Promise<string | undefined> {
  const given = invocation.option('prompt')
  if (given !== '-') {
    if (given?.trim() === '') throw new InvalidInput('The prompt is empty.')
    return given
  }
  let text = ''
  for await (const chunk of process.stdin) text += chunk
  if (text.trim() === '') throw new InvalidInput('There is no prompt on stdin.')
  return text
}

function maxTurnsOf(invocation: Invocation): number | undefined {
  const text = invocation.option('max-turns')
  if (text === undefined) return undefined
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new InvalidInput(`--max-turns "${text}" is not a number of turns.`)
  return Number(text)
}
