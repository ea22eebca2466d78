// chat-prompts.ts: how the user at a terminal is asked by a run: may this call be made, a server's form, a page to open, the
// model for a server. The text of a question is core's, forms and keys are those of terminal/, for every verb the same.
import { isAbsolute, relative } from 'node:path'
import type { UserInterface } from '@plugboard/agent'
import type { PermissionAnswer, PermissionQuestion } from '@plugboard/core'
import type { Host } from '@plugboard/core/host'
import { samplingQuestion } from '@plugboard/core/interaction'
import { permissionQuestion } from '@plugboard/core/permissions'
import { questionText } from '@plugboard/core/text/question-text'
import type { Colors } from '../colors.ts'
import { shortPath } from '../output.ts'
import { layoutOf, terminalAsker } from '../terminal/confirm.ts'
import { askUser } from '../terminal/elicitation.ts'
import { type Asker, askWhole, type Choice } from '../terminal/permission-prompt.ts'

const CHOICES: Readonly<Record<PermissionAnswer, Choice<PermissionAnswer>>> = {
  once: { means: 'once', key: 'y', label: '(y)es, once', agrees: true },
  session: { means: 'session', key: 's', label: 'for this (s)ession', agrees: true },
  always: { means: 'always', key: 'a', label: '(a)lways', agrees: true },
  no: { means: 'no', key: 'n', label: '(n)o', agrees: false },
}

/** Runs a question while nothing else uses the terminal. */
export type Aside = <T>(work: () => Promise<T>, signal?: AbortSignal) => Promise<T>

export interface TerminalUserOptions {
  readonly host: Host
  readonly color: Colors
  readonly aside?: Aside
}

export function userAtTerminal(options: TerminalUserOptions): UserInterface {
  const { host, color, aside = (work) => work() } = options
  const asker = terminalAsker(color)
  return {
    permit: (question) => aside(() => permit(asker, question), question.signal),
    elicit: (prompt, signal) => aside(() => askUser(prompt, { host, color }, signal), signal),
    consent: (request, signal) =>
      aside(async () => {
        const choices = [CHOICES.once, CHOICES.session, CHOICES.no]
        const answer = await askWhole(
          asker,
          samplingQuestion(request, layoutOf(asker)),
          choices,
          'no',
          signal,
        )
        return answer === 'always' ? 'session' : answer
      }, signal),
  }
}

/** The whole plan, and a yes or a no. */
export async function reviewPlan(plan: string, color: Colors, signal: AbortSignal): Promise<boolean> {
  const asker = terminalAsker(color)
  const text = questionText(
    {
      head: 'Carry out this plan?',
      tone: {
        role: 'writes',
        text: 'With a yes, plan mode ends and tools that change something may run again.',
      },
      values: plan,
    },
    layoutOf(asker),
  )
  const choices = [
    { means: true, key: 'y', label: '(y)es', agrees: true },
    { means: false, key: 'n', label: '(n)o, plan again', agrees: false },
  ]
  return await askWhole(asker, text, choices, false, signal)
}

async function permit(asker: Asker, question: PermissionQuestion): Promise<PermissionAnswer> {
  const { answers, saves, signal } = question
  const file = saves?.file === undefined ? {} : { file: nearPath(saves.file) }
  const text = permissionQuestion({ ...question, saves: saves && { ...saves, ...file } }, layoutOf(asker))
  const choices = answers.map((answer) => CHOICES[answer])
  return await askWhole(asker, text, choices, 'no', signal)
}

/** Relative where the file is below the folder we are in: a long path hides its end. */
function nearPath(file: string): string {
  const near = relative(process.cwd(), file)
  return near.startsWith('..') || isAbsolute(near) ? shortPath(file) : `./${near}`
}
