// user-prompts.ts: how the user at a terminal is asked: may this call be made, a server's form, a page to open, the model
// for a server. core has the text of a question; terminal/permission-prompt.ts decides which answers are allowed when.
import type { UserInterface } from '@plugboard/agent'
import type { PermissionAnswer, PermissionQuestion, Prompt, RawAnswer } from '@plugboard/core'
import { Cancelled } from '@plugboard/core/errors'
import { type Field, samplingQuestion } from '@plugboard/core/interaction'
import { permissionQuestion } from '@plugboard/core/permissions'
import { questionText } from '@plugboard/core/text/question-text'
import { exactLine, nameText } from '@plugboard/core/text/visible'
import { type Output, shortPath } from '../output.ts'
import { columnsOf, editorOutput, screenRows, terminalText, write } from '../streams.ts'
import { type Asker, askWhole, type Choice, styled } from '../terminal/permission-prompt.ts'

export type { Asker } from '../terminal/permission-prompt.ts'

const CHOICES: Readonly<Record<PermissionAnswer, Choice<PermissionAnswer>>> = {
  once: { means: 'once', words: ['y', 'yes', 'o', 'once'], label: '(y)es, once', agrees: true },
  session: { means: 'session', words: ['s', 'session'], label: 'for this (s)ession', agrees: true },
  always: { means: 'always', words: ['a', 'always'], label: '(a)lways', agrees: true },
  no: { means: 'no', words: ['n', 'no'], label: '(n)o', agrees: false },
}

export function userAsked(asker: Asker): UserInterface {
  return {
    permit: (question) => permit(asker, question),
    elicit: (prompt, signal) => elicit(asker, prompt, signal),
    consent: async (request, signal) => {
      const answers = ['once', 'session', 'no'] as const
      const choices = answers.map((answer) => CHOICES[answer])
      const answer = await askWhole(asker, samplingQuestion(request, layoutOf(asker)), choices, 'no', signal)
      return answer === 'always' ? 'session' : answer
    },
  }
}

function layoutOf(asker: Asker) {
  const { columns, rows } = asker.size()
  return { columns, rows: Math.max(6, rows - 10) }
}

async function permit(asker: Asker, question: PermissionQuestion): Promise<PermissionAnswer> {
  const { answers, saves, signal } = question
  const file = saves?.file === undefined ? {} : { file: shortPath(saves.file) }
  const text = permissionQuestion({ ...question, saves: saves && { ...saves, ...file } }, layoutOf(asker))
  const choices = answers.map((answer) => CHOICES[answer])
  return await askWhole(asker, text, choices, 'no', signal)
}

async function elicit(asker: Asker, prompt: Prompt, signal: AbortSignal | undefined): Promise<RawAnswer> {
  const { bold, dim, yellow } = asker.color
  const warnings = prompt.mode === 'url' ? prompt.warnings : prompt.form.warnings
  showPrompt(asker, prompt)
  for (const warning of warnings) asker.show(`  ${yellow('!')} ${exactLine(warning)}`)
  if (prompt.mode === 'url') {
    asker.show(`  The page is at ${bold(exactLine(prompt.url.host))}:`)
    asker.show(`  ${exactLine(prompt.url.href)}`)
    asker.show(dim('  Open it yourself if you trust it. An empty answer declines.'))
    const line = await asker.line('  (d)one, (n)o: ', signal)
    if (line === undefined) return { action: 'cancel' }
    return /^\s*(d|done|y|yes)\s*$/i.test(line) ? { action: 'accept', done: true } : { action: 'decline' }
  }
  for (const { field, message } of prompt.problems)
    asker.show(`  ${yellow('!')} ${exactLine(`${field} ${message}`)}`)
  asker.show(dim('  Enter takes what is in brackets; /no declines, Ctrl-C cancels.'))
  const content: [string, unknown][] = []
  for (const field of prompt.form.fields) {
    const line = await asker.line(`  ${fieldLabel(field)}: `, signal)
    if (line === undefined) return { action: 'cancel' }
    if (line.trim() === '/no') return { action: 'decline' }
    if (line.trim() !== '') content.push([field.name, typedValue(field, line.trim())])
  }
  // A form with warnings is sent only after an explicit yes: its last field may have been Enter.
  if (warnings.length > 0) {
    const said = await asker.line(`  Send this to ${nameText(prompt.server)}? (y)es, (n)o: `, signal)
    if (said === undefined) return { action: 'cancel' }
    if (!/^\s*(y|yes)\s*$/i.test(said)) return { action: 'decline' }
  }
  // fromEntries makes own properties, whatever they are called.
  return { action: 'accept', content: Object.fromEntries(content) }
}

/** The server's text, each line behind a bar so that none can pass for a line of ours. */
function showPrompt(asker: Asker, { server, message }: Prompt): void {
  const { full } = questionText(
    { head: `${nameText(server)} asks:`, values: message },
    { columns: asker.size().columns },
  )
  for (const line of full) asker.show(styled(line, asker.color))
}

function fieldLabel(field: Field): string {
  const choices = 'options' in field ? ` {${field.options.map(({ value }) => value).join(', ')}}` : ''
  const yesNo = field.kind === 'boolean' ? ' (yes/no)' : ''
  const preset = field.default === undefined ? '' : ` [${String(field.default)}]`
  return exactLine(`${field.title}${field.required ? '*' : ''}${choices}${yesNo}${preset}`)
}

/** Converted to the field's type; a value that does not fit stays as it is, and the form reports it. */
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
export function userAtTerminal(output: Output): UserInterface {
  return userAsked({
    color: output.errorColor,
    show: (text) => write(2, `${text}\n`),
    size: () => ({ columns: columnsOf(2), rows: screenRows(2) }),
    line: async (prompt, signal) => {
      const { createInterface } = await import('node:readline/promises')
      const reader = createInterface({ input: process.stdin, output: editorOutput(2) })
      // Ctrl-C at a question stops the whole command.
      reader.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
      const closed = new Promise<undefined>((done) => reader.once('close', () => done(undefined)))
      try {
        return await Promise.race([reader.question(terminalText(prompt), signal ? { signal } : {}), closed])
      } catch (error) {
        throw new Cancelled(undefined, { cause: error })
      } finally {
        reader.close()
      }
    },
  })
}
