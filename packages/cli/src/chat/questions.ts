// questions.ts: how a person at a terminal is asked: may this call be made, a server's form, a page to open, the model
// lent to a server. Everything shown comes from strangers and is made harmless first.
import type { Person } from '@plugboard/agent'
import type { Answer, Prompt, Question, RawAnswer } from '@plugboard/core'
import { Cancelled } from '@plugboard/core/errors'
import type { Field } from '@plugboard/core/interaction'
import type { Colors } from '../colors.ts'
import type { Output } from '../output.ts'
import { safe } from '../output.ts'
import { briefArguments } from './print.ts'

/** Shows lines and takes one back; nothing comes back when the person leaves it. */
export interface Asker {
  show(text: string): void
  line(prompt: string, signal?: AbortSignal): Promise<string | undefined>
  readonly color: Colors
}

const KEYS: Readonly<Record<string, Answer>> = {
  y: 'once',
  yes: 'once',
  o: 'once',
  once: 'once',
  s: 'session',
  session: 'session',
  a: 'always',
  always: 'always',
  n: 'no',
  no: 'no',
}
const LABELS: Readonly<Record<Answer, string>> = {
  once: '(y)es, once',
  session: 'for this (s)ession',
  always: '(a)lways',
  no: '(n)o',
}
const TRIES = 3
const ARGUMENT_CHARS = 400

export function personAsked(asker: Asker): Person {
  return {
    permit: (question) => permit(asker, question),
    elicit: (prompt, signal) => elicit(asker, prompt, signal),
    consent: async ({ server, messages, maxTokens }, signal) => {
      const { bold, dim } = asker.color
      const size = JSON.stringify(messages).length
      asker.show(
        `${bold(safe(server))} wants to use the model: ${size} characters, at most ${maxTokens} tokens back.`,
      )
      asker.show(dim(safe(briefArguments(messages, ARGUMENT_CHARS))))
      const answer = await choose(asker, ['once', 'session', 'no'], signal)
      return answer === 'always' ? 'session' : answer
    },
  }
}

async function permit(asker: Asker, question: Question): Promise<Answer> {
  const { request, reason, answers, signal } = question
  const { bold, dim, yellow } = asker.color
  const what = request.resource ? 'read' : 'call'
  asker.show(
    `${yellow('?')} May it ${what} ${bold(safe(`${request.server}: ${request.tool}`))}? ${dim(`(${safe(reason.text)})`)}`,
  )
  const args = briefArguments(question.arguments, ARGUMENT_CHARS)
  if (args !== '') asker.show(`  ${dim(safe(args))}`)
  for (const line of request.changes ?? []) asker.show(`  ${yellow('changed')} ${safe(line)}`)
  return await choose(asker, answers, signal)
}

async function choose(
  asker: Asker,
  answers: readonly Answer[],
  signal: AbortSignal | undefined,
): Promise<Answer> {
  const prompt = `  ${answers.map((answer) => LABELS[answer]).join(', ')}: `
  for (let tries = 0; tries < TRIES; tries++) {
    const line = await asker.line(prompt, signal)
    if (line === undefined) return 'no'
    const word = line.trim().toLowerCase()
    const answer = Object.hasOwn(KEYS, word) ? KEYS[word] : undefined
    if (answer && answers.includes(answer)) return answer
  }
  return 'no'
}

async function elicit(asker: Asker, prompt: Prompt, signal: AbortSignal | undefined): Promise<RawAnswer> {
  const { bold, dim, yellow } = asker.color
  asker.show(`${yellow('?')} ${bold(safe(prompt.server))} asks: ${safe(prompt.message)}`)
  if (prompt.mode === 'url') {
    for (const warning of prompt.warnings) asker.show(`  ${yellow('!')} ${safe(warning)}`)
    asker.show(`  Open ${bold(safe(prompt.url.href))}`)
    const line = await asker.line('  (d)one, (n)o: ', signal)
    if (line === undefined) return { action: 'cancel' }
    return /^\s*(d|done|y|yes)\s*$/i.test(line) ? { action: 'accept', done: true } : { action: 'decline' }
  }
  for (const warning of prompt.form.warnings) asker.show(`  ${yellow('!')} ${safe(warning)}`)
  for (const { field, message } of prompt.problems)
    asker.show(`  ${yellow('!')} ${safe(`${field} ${message}`)}`)
  asker.show(dim('  Enter takes what is in brackets; /no declines, Ctrl-C cancels.'))
  const content: [string, unknown][] = []
  for (const field of prompt.form.fields) {
    const line = await asker.line(`  ${fieldLabel(field)}: `, signal)
    if (line === undefined) return { action: 'cancel' }
    if (line.trim() === '/no') return { action: 'decline' }
    if (line.trim() !== '') content.push([field.name, typedValue(field, line.trim())])
  }
  // fromEntries makes own properties, whatever they are called.
  return { action: 'accept', content: Object.fromEntries(content) }
}

function fieldLabel(field: Field): string {
  const choices = 'options' in field ? ` {${field.options.map(({ value }) => value).join(', ')}}` : ''
  const yesNo = field.kind === 'boolean' ? ' (yes/no)' : ''
  const preset = field.default === undefined ? '' : ` [${String(field.default)}]`
  return safe(`${field.title}${field.required ? '*' : ''}${choices}${yesNo}${preset}`)
}

/** As the field wants it; what does not fit is left as it is, and the form says so. */
function typedValue(field: Field, text: string): unknown {
  switch (field.kind) {
    case 'number':
      return Number.isNaN(Number(text)) ? text : Number(text)
    case 'boolean':
      return /^(y|yes|true|1)$/i.test(text) ? true : /^(n|no|false|0)$/i.test(text) ? false : text
    case 'choice':
      return field.options.find(({ value, label }) => value === text || label === text)?.value ?? text
    case 'choices':
      return text.split(',').map((part) => part.trim())
    default:
      return text
  }
}

/** For `-p` at a terminal: questions on stderr, so that stdout holds the answer alone. */
export function personAtTerminal(output: Output): Person {
  return personAsked({
    color: output.errorColor,
    show: (text) => process.stderr.write(`${text}\n`),
    line: async (prompt, signal) => {
      const { createInterface } = await import('node:readline/promises')
      const reader = createInterface({ input: process.stdin, output: process.stderr })
      // Ctrl-C at a question means the whole command.
      reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
      const closed = new Promise<undefined>((done) => reader.once('close', () => done(undefined)))
      try {
        return await Promise.race([reader.question(prompt, signal ? { signal } : {}), closed])
      } catch (error) {
        throw new Cancelled(undefined, { cause: error })
      } finally {
        reader.close()
      }
    },
  })
}
