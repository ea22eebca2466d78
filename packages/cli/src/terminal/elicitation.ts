// elicitation.ts: a server's question on the terminal: a form, field by field, or a page to open. All text of the server is
// shown with its control characters made visible.
import type { Prompt, RawAnswer } from '@plugboard/core'
import { openBrowser } from '@plugboard/core/auth/browser'
import type { Host } from '@plugboard/core/host'
import { type Field, type Form, fieldProblem } from '@plugboard/core/interaction'
import { nameText } from '@plugboard/core/text/escape-controls'
import { valueLines } from '@plugboard/core/text/question-text'
import { ANSWERED_IN_PAGE } from '@plugboard/resident/client'
import type { Colors } from '../colors.ts'
import { oneLine } from '../shared/one-line.ts'
import { columnsOf } from '../streams.ts'
import { askKey, askLine, dropTypeAhead, PromptAborted, pick, questionFd, tell } from './keys.ts'

export interface FormSurroundings {
  readonly host: Host
  readonly color: Colors
}

type Value = string | number | boolean | readonly string[] | undefined

/** Leaving the question cancels it. */
export async function askUser(
  prompt: Prompt,
  surroundings: FormSurroundings,
  signal?: AbortSignal,
): Promise<RawAnswer> {
  // Withdrawn before its turn came.
  if (signal?.aborted) return { action: 'cancel' }
  try {
    await dropTypeAhead(signal)
    return prompt.mode === 'form'
      ? await fillIn(prompt, surroundings, signal)
      : await visit(prompt, surroundings, signal)
  } catch (error) {
    if (!(error instanceof PromptAborted)) throw error
    tell(`  ${surroundings.color.dim(isAnsweredInPage(signal) ? 'withdrawn' : 'cancelled')}\n`)
    return { action: 'cancel' }
  }
}

/** The resident board withdraws a question that a page of the board was quicker to answer. */
function isAnsweredInPage(signal: AbortSignal | undefined): boolean {
  return signal?.reason instanceof Error && signal.reason.message === ANSWERED_IN_PAGE
}

function head(prompt: Prompt, { bold, yellow }: Colors, warnings: readonly string[]): void {
  tell(`\n${bold(`${nameText(prompt.server)} asks`)}\n`)
  // Each line of the server's text is behind a mark of ours, so that none can pass for a line of the form.
  for (const line of valueLines(prompt.message, { columns: columnsOf(questionFd()) }).full) tell(`${line}\n`)
  for (const warning of warnings) tell(`  ${yellow(`! ${oneLine(warning, 400)}`)}\n`)
}

async function fillIn(
  prompt: Extract<Prompt, { mode: 'form' }>,
  { color }: FormSurroundings,
  signal: AbortSignal | undefined,
): Promise<RawAnswer> {
  const { form, problems } = prompt
  head(prompt, color, form.warnings)
  for (const { field, message } of problems) tell(`  ${color.red(oneLine(`${field} ${message}`, 200))}\n`)
  const answers = new Map<string, Value>()
  for (;;) {
    for (const field of form.fields) answers.set(field.name, await askField(field, answers, color, signal))
    // An Enter too many, meant for the last field, sends nothing.
    await dropTypeAhead(signal)
    tell('\n')
    const what = await askKey(choicesFor(form, prompt.server), signal)
    if (what === 'decline') return { action: 'decline' }
    if (what === 'send') {
      const given = [...answers].filter(([, value]) => value !== undefined)
      return { action: 'accept', content: Object.fromEntries(given) }
    }
  }
}

/** A form that asks for a secret is not sent by a key pressed without looking. */
function choicesFor(form: Form, server: string) {
  const send = { key: 's', means: 'send', label: `send to ${oneLine(server, 40)}` } as const
  const edit = { key: 'e', means: 'edit', label: 'edit' } as const
  const decline = { key: 'd', means: 'decline', label: 'decline' } as const
  return form.warnings.length > 0 ? [decline, send, edit] : [send, edit, decline]
}

async function askField(
  field: Field,
  answers: ReadonlyMap<string, Value>,
  color: Colors,
  signal: AbortSignal | undefined,
): Promise<Value> {
  const before = answers.has(field.name) ? answers.get(field.name) : field.default
  const title = oneLine(field.title, 100)
  const wanted = field.required ? color.yellow(' (required)') : ''
  tell(`\n  ${color.bold(title)}${wanted}${hintOf(field, color)}\n`)
  if (field.description) tell(`  ${color.dim(oneLine(field.description, 300))}\n`)
  const value = await askValue(field, before, color, signal)
  tell(`  ${color.green('✔')} ${value === undefined ? color.dim('left out') : shown(field, value)}\n`)
  return value
}

async function askValue(
  field: Field,
  before: Value,
  color: Colors,
  signal: AbortSignal | undefined,
): Promise<Value> {
  switch (field.kind) {
    case 'text':
    case 'number':
      return askText(field, before, color, signal)
    case 'boolean': {
      const labels = field.required ? ['yes', 'no'] : ['yes', 'no', LEAVE_OUT]
      const [at = 0] = await pick(labels, {
        start: [before === undefined && !field.required ? 2 : before === false ? 1 : 0],
        several: false,
        signal,
      })
      return at === 2 ? undefined : at === 0
    }
    case 'choice': {
      const labels = field.options.map(({ label }) => oneLine(label, 100))
      const start = field.options.findIndex(({ value }) => value === before)
      const all = field.required ? labels : [...labels, LEAVE_OUT]
      const [at = 0] = await pick(all, {
        start: [start >= 0 ? start : field.required ? 0 : labels.length],
        several: false,
        signal,
      })
      return field.options[at]?.value
    }
    case 'choices': {
      const taken = Array.isArray(before) ? before : []
      const values = (chosen: readonly number[]) => chosen.flatMap((at) => field.options[at]?.value ?? [])
      const chosen = await pick(
        field.options.map(({ label }) => oneLine(label, 100)),
        {
          start: field.options.flatMap(({ value }, at) => (taken.includes(value) ? [at] : [])),
          several: true,
          problem: (list) =>
            list.length === 0 && !field.required ? undefined : fieldProblem(field, values(list)),
          signal,
        },
      )
      return chosen.length === 0 && !field.required ? undefined : values(chosen)
    }
  }
}

const LEAVE_OUT = '(leave out)'

async function askText(
  field: Extract<Field, { kind: 'text' | 'number' }>,
  before: Value,
  color: Colors,
  signal: AbortSignal | undefined,
): Promise<Value> {
  const kept = before === undefined ? '' : color.dim(`[${oneLine(String(before), 60)}] `)
  for (;;) {
    const line = await askLine({ prompt: `  ${kept}› `, signal })
    if (line === '' && before !== undefined) return before
    if (line === '' && !field.required) return undefined
    const value = field.kind === 'number' && line.trim() !== '' ? Number(line) : line
    const problem = fieldProblem(field, value)
    if (problem === undefined) return value
    tell(`  ${color.red(`${oneLine(field.title, 60)} ${problem}`)}\n`)
  }
}

function hintOf(field: Field, { dim }: Colors): string {
  const parts: string[] = []
  if (field.kind === 'text') {
    if (field.format) parts.push(oneLine(field.format, 30))
    if (field.minLength !== undefined) parts.push(`at least ${field.minLength} characters`)
    if (field.maxLength !== undefined) parts.push(`at most ${field.maxLength} characters`)
  }
  if (field.kind === 'number') {
    parts.push(field.integer ? 'whole number' : 'number')
    if (field.minimum !== undefined || field.maximum !== undefined)
      parts.push(`${field.minimum ?? '…'} to ${field.maximum ?? '…'}`)
  }
  if (field.kind === 'choices' && (field.minItems !== undefined || field.maxItems !== undefined))
    parts.push(`${field.minItems ?? 0} to ${field.maxItems ?? field.options.length}`)
  return parts.length > 0 ? dim(` · ${parts.join(', ')}`) : ''
}

function shown(field: Field, value: NonNullable<Value>): string {
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  const options = field.kind === 'choice' || field.kind === 'choices' ? field.options : []
  const label = (one: string) => oneLine(options.find((option) => option.value === one)?.label ?? one, 100)
  return Array.isArray(value) ? value.map(label).join(', ') : label(String(value))
}

/** A page is opened only when the user has seen where it leads and agreed; never through a shell. */
async function visit(
  prompt: Extract<Prompt, { mode: 'url' }>,
  { host, color }: FormSurroundings,
  signal: AbortSignal | undefined,
): Promise<RawAnswer> {
  const { url } = prompt
  head(prompt, color, prompt.warnings)
  tell(
    `  It wants you to open a page at ${color.bold(oneLine(url.host, 200))}:\n  ${oneLine(url.href, 2000)}\n\n`,
  )
  const open = { key: 'o', means: 'open', label: 'open it' } as const
  const myself = { key: 'm', means: 'myself', label: 'I open it myself' } as const
  const decline = { key: 'd', means: 'decline', label: 'decline' } as const
  // Enter, pressed without looking, opens no page that has a warning.
  const what = await askKey(
    prompt.warnings.length > 0 ? [decline, open, myself] : [open, myself, decline],
    signal,
  )
  if (what === 'decline') return { action: 'decline' }
  if (what === 'open' && !(await openBrowser(host, url)))
    tell(`  ${color.yellow('No browser could be started; open the address yourself.')}\n`)
  if (!prompt.retry) return { action: 'accept' }
  tell('  The call is tried again when you have finished.\n')
  await askKey([{ key: 'c', means: 'done', label: 'done, try again' }], signal)
  return { action: 'accept', done: true }
}
